import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.Date;
import java.util.TimeZone;
import org.quartz.CronExpression;

/** Reads lines of expression, zone and instant, parted by tabs, and adds the next fire time that Quartz finds, or "none". */
public class QuartzAnswers {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t");
            CronExpression expression = new CronExpression(parts[0]);
            expression.setTimeZone(TimeZone.getTimeZone(parts[1]));
            Date fire = expression.getTimeAfter(Date.from(Instant.parse(parts[2])));
            System.out.println(line + "\t" + (fire == null ? "none" : fire.toInstant().toString()));
        }
    }
}
