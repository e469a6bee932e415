import eu.europa.esig.dss.spi.DSSUtils;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.digidoc4j.Configuration;
import org.digidoc4j.Container;
import org.digidoc4j.ContainerOpener;
import org.digidoc4j.ContainerValidationResult;
import org.digidoc4j.exceptions.DigiDoc4JException;
import org.digidoc4j.impl.asic.tsl.TSLCertificateSourceImpl;

/**
 * digidoc4j, which SiVa validates with, as a judge of ASiC-S containers (EN 319 162-1). One command a line, bytes in base64:
 *
 *   trust CERTIFICATE    of a TSA, as trusted lists have it: with the anchor above it alone, digidoc4j knows no time-stamping service
 *   container ASICS      answers `taken`, or `refused` and why
 */
public class Digidoc4j {
  static final Configuration configuration = Configuration.of(Configuration.Mode.TEST);

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      try {
        switch (words[0]) {
          case "trust" -> trust(bytes(words[1]));
          case "container" -> say(judge(bytes(words[1])));
          default -> say("refused: unknown command");
        }
      } catch (Exception e) {
        say("refused: " + e.getMessage());
      }
      say("done");
    }
  }

  static void trust(byte[] certificate) {
    TSLCertificateSourceImpl trusted = new TSLCertificateSourceImpl();
    trusted.addTSLCertificate(DSSUtils.loadCertificate(certificate).getCertificate());
    configuration.setTSL(trusted);
  }

  static String judge(byte[] asics) {
    Container container = ContainerOpener.open(new ByteArrayInputStream(asics), configuration);
    ContainerValidationResult result = container.validate();
    List<String> faults = new ArrayList<>();
    if (!container.getType().equals("ASICS")) faults.add("taken for " + container.getType());
    if (result.getTimestampIdList().size() != 1) faults.add(result.getTimestampIdList().size() + " time-stamps");
    for (String id : result.getTimestampIdList()) {
      if (!"PASSED".equals(String.valueOf(result.getIndication(id)))) faults.add(result.getIndication(id) + " " + result.getSubIndication(id));
    }
    for (DigiDoc4JException fault : result.getErrors()) faults.add(fault.getMessage());
    if (!result.isValid()) faults.add("not valid");
    return faults.isEmpty() ? "taken" : "refused: " + String.join("; ", faults);
  }

  static byte[] bytes(String base64) {
    return Base64.getDecoder().decode(base64);
  }

  static void say(String line) {
    System.out.println(line.replace('\n', ' '));
    System.out.flush();
  }
}
