import eu.europa.esig.dss.enumerations.Indication;
import eu.europa.esig.dss.model.DSSDocument;
import eu.europa.esig.dss.model.InMemoryDocument;
import eu.europa.esig.dss.spi.DSSUtils;
import eu.europa.esig.dss.spi.x509.CommonCertificateSource;
import eu.europa.esig.dss.tsl.parsing.TLParsingResult;
import eu.europa.esig.dss.tsl.parsing.TLParsingTask;
import eu.europa.esig.dss.tsl.source.TLSource;
import eu.europa.esig.dss.tsl.validation.TLValidatorTask;
import eu.europa.esig.dss.tsl.validation.ValidationResult;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.security.KeyStore;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.Date;
import java.util.List;

/**
 * DSS, the validator of the European Commission, as a judge of trusted lists (ETSI TS 119 612). One command a line, bytes in base64:
 *
 *   judge LIST CERTIFICATE…    the list, and the certificates that may sign it; answers `taken SE 48 2023-06-02T13:59:56Z`, or `refused` and why
 *   keystore P12 PASSWORD      answers the certificates in a key store
 *
 * The two tasks are those that DSS itself runs on every list that it downloads: one reads the list, the other one validates its signature.
 */
public class TrustedLists {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      List<String> words = Arrays.asList(line.split(" "));
      try {
        switch (words.get(0)) {
          case "judge" -> say(oneLine(judge(new InMemoryDocument(bytes(words.get(1)), "list"), words.subList(2, words.size()))));
          case "keystore" -> certificates(bytes(words.get(1)), words.get(2)).forEach(TrustedLists::say);
          default -> say("refused: unknown command");
        }
      } catch (Throwable e) {
        say("refused: " + oneLine(String.valueOf(e.getMessage())));
      }
      say("done");
    }
  }

  static String judge(DSSDocument list, List<String> signers) {
    TLParsingResult read = new TLParsingTask(list, new TLSource()).get();
    if (read.getTerritory() == null || read.getSequenceNumber() == null || read.getIssueDate() == null)
      return "refused: territory, sequence number or date of issue is missing";

    CommonCertificateSource allowed = new CommonCertificateSource();
    signers.forEach(one -> allowed.addCertificate(DSSUtils.loadCertificate(bytes(one))));
    ValidationResult signature = new TLValidatorTask(list, allowed).get();
    if (signature.getIndication() != Indication.TOTAL_PASSED)
      return "refused: " + signature.getIndication() + "/" + signature.getSubIndication();

    // DSS uses a list that breaks its schema, and only reports it. So it is a remark here.
    List<String> remarks = read.getStructureValidationMessages();
    String remark = remarks == null || remarks.isEmpty() ? "" : "; " + remarks.get(0);
    return "taken " + read.getTerritory() + " " + read.getSequenceNumber() + " " + second(read.getIssueDate()) + remark;
  }

  static List<String> certificates(byte[] store, String password) throws Exception {
    KeyStore opened = KeyStore.getInstance("PKCS12");
    opened.load(new ByteArrayInputStream(store), password.toCharArray());
    List<String> found = new ArrayList<>();
    for (String alias : Collections.list(opened.aliases())) found.add(Base64.getEncoder().encodeToString(opened.getCertificate(alias).getEncoded()));
    return found;
  }

  static String second(Date date) {
    return date.toInstant().truncatedTo(ChronoUnit.SECONDS).toString();
  }

  static String oneLine(String text) {
    return text.replaceAll("\\s+", " ");
  }

  static byte[] bytes(String base64) {
    return Base64.getDecoder().decode(base64);
  }

  static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
