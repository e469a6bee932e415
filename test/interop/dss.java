import eu.europa.esig.dss.diagnostic.DiagnosticData;
import eu.europa.esig.dss.diagnostic.EvidenceRecordWrapper;
import eu.europa.esig.dss.diagnostic.TimestampWrapper;
import eu.europa.esig.dss.diagnostic.jaxb.XmlDigestMatcher;
import eu.europa.esig.dss.enumerations.DigestMatcherType;
import eu.europa.esig.dss.enumerations.Indication;
import eu.europa.esig.dss.model.DSSDocument;
import eu.europa.esig.dss.model.InMemoryDocument;
import eu.europa.esig.dss.simplereport.SimpleReport;
import eu.europa.esig.dss.spi.DSSUtils;
import eu.europa.esig.dss.spi.validation.CommonCertificateVerifier;
import eu.europa.esig.dss.spi.x509.CommonTrustedCertificateSource;
import eu.europa.esig.dss.spi.x509.revocation.crl.ExternalResourcesCRLSource;
import eu.europa.esig.dss.validation.SignedDocumentValidator;
import eu.europa.esig.dss.validation.reports.Reports;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/**
 * DSS, the validator of the European Commission, as a judge of evidence records (RFC 4998) and of ASiC containers (EN 319 162-1). One command a
 * line, bytes in base64:
 *
 *   trust CERTIFICATE CRL…    the trust anchor, and revocation lists below it
 *   judge RECORD DOCUMENT     answers `taken`, or `refused` and why
 *   container ASICS
 *
 * Taken is what DSS reports as passed: everything that is in there, token and hash, down to the trust anchor.
 */
public class Dss {
  static final CommonCertificateVerifier verifier = new CommonCertificateVerifier();

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      try {
        switch (words[0]) {
          case "trust" -> trust(bytes(words[1]), Arrays.asList(words).subList(2, words.length));
          case "judge" -> say(judge(words[1], List.of(new InMemoryDocument(bytes(words[2]), "document"))));
          case "container" -> say(judge(words[1], List.of()));
          default -> say("refused: unknown command");
        }
      } catch (Exception e) {
        say("refused: " + e);
      }
      say("done");
    }
  }

  static void trust(byte[] anchor, List<String> lists) {
    CommonTrustedCertificateSource trusted = new CommonTrustedCertificateSource();
    trusted.addCertificate(DSSUtils.loadCertificate(anchor));
    verifier.setTrustedCertSources(trusted);
    verifier.setCrlSource(new ExternalResourcesCRLSource(lists.stream().map(one -> new InMemoryDocument(bytes(one))).toArray(DSSDocument[]::new)));
  }

  static String judge(String proof, List<DSSDocument> documents) {
    SignedDocumentValidator validator = SignedDocumentValidator.fromDocument(new InMemoryDocument(bytes(proof), "proof"));
    validator.setCertificateVerifier(verifier);
    if (!documents.isEmpty()) validator.setDetachedContents(documents);
    Reports reports = validator.validateDocument();
    SimpleReport report = reports.getSimpleReport();
    DiagnosticData data = reports.getDiagnosticData();
    List<String> faults = new ArrayList<>();
    List<EvidenceRecordWrapper> records = data.getEvidenceRecords();
    List<TimestampWrapper> tokens = data.getTimestampList();
    if (tokens.isEmpty()) faults.add("no time-stamp");
    for (EvidenceRecordWrapper record : records) add(faults, report, record.getId(), record.getDigestMatchers());
    for (TimestampWrapper token : tokens) add(faults, report, token.getId(), token.getDigestMatchers());
    return faults.isEmpty() ? "taken" : "refused: " + String.join("; ", faults);
  }

  static void add(List<String> faults, SimpleReport report, String id, List<XmlDigestMatcher> matchers) {
    Indication indication = report.getIndication(id);
    if (indication != Indication.PASSED && indication != Indication.TOTAL_PASSED) faults.add(indication + " " + report.getSubIndication(id));
    for (XmlDigestMatcher matcher : matchers) {
      // Hashes beside those that are looked for: of other documents of a group, or of older tokens (Bouncy Castle wants these).
      if (matcher.getType() == DigestMatcherType.EVIDENCE_RECORD_ORPHAN_REFERENCE) continue;
      if (!matcher.isDataIntact()) faults.add(matcher.getType() + " is not intact");
    }
  }

  static byte[] bytes(String base64) {
    return Base64.getDecoder().decode(base64);
  }

  static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
