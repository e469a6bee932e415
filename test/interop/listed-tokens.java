import eu.europa.esig.dss.enumerations.DigestAlgorithm;
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
import eu.europa.esig.dss.tsl.source.TLSource;
import eu.europa.esig.dss.validation.SignedDocumentValidator;
import java.io.BufferedReader;
import java.io.InputStreamReader;
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
 * DSS, the validator of the European Commission, as a judge of qualified time-stamps (ETSI TS 119 615). One command a line, bytes in base64:
 *
 *   list LIST CERTIFICATE…                adds a trusted list, and the certificates that may sign it
 *   load                                  forgets the lists of before, and reads those that were added
 *   qualify TOKEN MILLIS HASH DIGEST CRL… answers `QTSA PASSED`: what kind of time-stamp it is, and whether DSS finds it valid at that time
 */
public class ListedTokens {
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
          case "list" -> add(bytes(words.get(1)), words.subList(2, words.size()));
          case "load" -> load();
          case "qualify" -> say(qualify(words));
          default -> say("failed: unknown command");
        }
      } catch (Throwable e) {
        say("failed: " + String.valueOf(e).replaceAll("\\s+", " "));
      }
      say("done");
    }
  }

  static void add(byte[] list, List<String> signers) {
    CommonCertificateSource allowed = new CommonCertificateSource();
    signers.forEach(one -> allowed.addCertificate(DSSUtils.loadCertificate(bytes(one))));
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
    System.out.println(line);
    System.out.flush();
  }
}
