import eu.europa.esig.dss.enumerations.DigestAlgorithm;
import eu.europa.esig.dss.enumerations.Indication;
import eu.europa.esig.dss.model.DSSDocument;
import eu.europa.esig.dss.model.DigestDocument;
import eu.europa.esig.dss.model.InMemoryDocument;
import eu.europa.esig.dss.simplereport.SimpleReport;
import eu.europa.esig.dss.spi.DSSUtils;
import eu.europa.esig.dss.spi.tsl.TrustedListsCertificateSource;
import eu.europa.esig.dss.spi.validation.CommonCertificateVerifier;
import eu.europa.esig.dss.spi.x509.CommonCertificateSource;
import eu.europa.esig.dss.spi.x509.revocation.crl.ExternalResourcesCRLSource;
import eu.europa.esig.dss.tsl.job.TLValidationJob;
import eu.europa.esig.dss.tsl.parsing.TLParsingResult;
import eu.europa.esig.dss.tsl.parsing.TLParsingTask;
import eu.europa.esig.dss.tsl.source.TLSource;
import eu.europa.esig.dss.tsl.validation.TLValidatorTask;
import eu.europa.esig.dss.tsl.validation.ValidationResult;
import eu.europa.esig.dss.validation.SignedDocumentValidator;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * DSS, the validator of the European Commission, as a judge of trusted lists (ETSI TS 119 612) and of qualified time-stamps (ETSI TS 119 615). One
 * command a line, bytes in base64:
 *
 *   judge LIST CERTIFICATE…               the list, and the certificates that may sign it; answers `taken SE 48 2023-06-02T13:59:56Z`, or `refused` and why
 *   list LIST CERTIFICATE…                adds such a list
 *   load                                  forgets the lists of before, and reads those that were added
 *   qualify TOKEN MILLIS HASH DIGEST CRL… answers `QTSA PASSED`: what kind of time-stamp it is, and whether DSS finds it valid at that time
 *
 * A list is judged by the two tasks that DSS itself runs on every list that it downloads: one reads the list, the other one validates its signature.
 */
public class TrustedLists {
  static final ExecutorService threads = Executors.newCachedThreadPool(task -> {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    return thread;
  });
  static final Map<String, byte[]> documents = new HashMap<>();
  static final List<TLSource> added = new ArrayList<>();
  static TrustedListsCertificateSource trusted = new TrustedListsCertificateSource();

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      List<String> words = Arrays.asList(line.split(" "));
      try {
        switch (words.get(0)) {
          case "judge" -> say(judge(new InMemoryDocument(bytes(words.get(1)), "list"), allowed(words)));
          case "list" -> add(bytes(words.get(1)), allowed(words));
          case "load" -> load();
          case "qualify" -> say(qualify(words));
          default -> say("failed: unknown command");
        }
      } catch (Throwable e) {
        say((words.get(0).equals("judge") ? "refused: " : "failed: ") + e.getMessage());
      }
      say("done");
    }
  }

  /** The certificates that may sign a list. */
  static CommonCertificateSource allowed(List<String> words) {
    CommonCertificateSource allowed = new CommonCertificateSource();
    words.stream().skip(2).forEach(one -> allowed.addCertificate(DSSUtils.loadCertificate(bytes(one))));
    return allowed;
  }

  static String judge(DSSDocument list, CommonCertificateSource allowed) {
    TLParsingResult read = new TLParsingTask(list, new TLSource()).get();
    if (read.getTerritory() == null || read.getSequenceNumber() == null || read.getIssueDate() == null)
      return "refused: territory, sequence number or date of issue is missing";

    ValidationResult signature = new TLValidatorTask(list, allowed).get();
    if (signature.getIndication() != Indication.TOTAL_PASSED)
      return "refused: " + signature.getIndication() + "/" + signature.getSubIndication();

    // DSS uses a list that breaks its schema, and only reports it. So it is a remark here.
    List<String> remarks = read.getStructureValidationMessages();
    String remark = remarks == null || remarks.isEmpty() ? "" : "; " + remarks.get(0);
    return "taken " + read.getTerritory() + " " + read.getSequenceNumber() + " " + read.getIssueDate().toInstant().truncatedTo(ChronoUnit.SECONDS) + remark;
  }

  static void add(byte[] list, CommonCertificateSource allowed) {
    TLSource source = new TLSource();
    source.setUrl("https://lists.example/" + added.size());
    source.setCertificateSource(allowed);
    documents.put(source.getUrl(), list);
    added.add(source);
  }

  static void load() {
    trusted = new TrustedListsCertificateSource();
    TLValidationJob job = new TLValidationJob();
    job.setExecutorService(threads);
    job.setTrustedListSources(added.toArray(TLSource[]::new));
    job.setOfflineDataLoader(url -> new InMemoryDocument(documents.get(url), url));
    job.setTrustedListCertificateSource(trusted);
    job.offlineRefresh();
    documents.clear();
    added.clear();
  }

  static String qualify(List<String> words) {
    CommonCertificateVerifier verifier = new CommonCertificateVerifier();
    verifier.setTrustedCertSources(trusted);
    verifier.setAIASource(null);
    DSSDocument[] crls = words.stream().skip(5).map(one -> new InMemoryDocument(bytes(one))).toArray(DSSDocument[]::new);
    verifier.setCrlSource(new ExternalResourcesCRLSource(crls));
    SignedDocumentValidator validator = SignedDocumentValidator.fromDocument(new InMemoryDocument(bytes(words.get(1)), "token"));
    validator.setCertificateVerifier(verifier);
    validator.setValidationTime(new Date(Long.parseLong(words.get(2))));
    validator.setDetachedContents(List.of(new DigestDocument(DigestAlgorithm.valueOf(words.get(3).toUpperCase()), words.get(4))));
    SimpleReport report = validator.validateDocument().getSimpleReport();
    String id = report.getFirstTimestampId();
    String detail = report.getSubIndication(id) == null ? "" : " " + report.getSubIndication(id);
    return report.getTimestampQualification(id).name() + " " + report.getIndication(id) + detail;
  }

  static byte[] bytes(String base64) {
    return Base64.getDecoder().decode(base64);
  }

  static void say(String line) {
    System.out.println(line.replaceAll("\\s+", " "));
    System.out.flush();
  }
}
