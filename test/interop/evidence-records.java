import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import org.bouncycastle.asn1.ASN1ObjectIdentifier;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.operator.DigestCalculator;
import org.bouncycastle.operator.DigestCalculatorProvider;
import org.bouncycastle.operator.jcajce.JcaDigestCalculatorProviderBuilder;
import org.bouncycastle.tsp.TimeStampRequest;
import org.bouncycastle.tsp.TimeStampRequestGenerator;
import org.bouncycastle.tsp.TimeStampResponse;
import org.bouncycastle.tsp.ers.ERSArchiveTimeStampGenerator;
import org.bouncycastle.tsp.ers.ERSByteData;
import org.bouncycastle.tsp.ers.ERSData;
import org.bouncycastle.tsp.ers.ERSDataGroup;
import org.bouncycastle.tsp.ers.ERSEvidenceRecord;
import org.bouncycastle.tsp.ers.ERSEvidenceRecordGenerator;

/**
 * Bouncy Castle as a judge and a maker of evidence records (RFC 4998). One command a line, bytes in base64:
 *
 *   judge RECORD DOCUMENT       answers `taken`, or `refused` and why
 *   batch ALGORITHM DOCUMENT…   a document may be a group: DOCUMENT,DOCUMENT; answers a record for each in the order of their hashes
 *   renew RECORD                time-stamp renewal; answers `record RECORD`
 *   rehash ALGORITHM RECORD DOCUMENT   hash-tree renewal
 *
 * Whoever wants a record is asked for its token: `ask TSQ`, and answers TSR. ALGORITHM is an OID.
 */
public class EvidenceRecords {
  static final DigestCalculatorProvider digests = digests();
  static final BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

  static DigestCalculatorProvider digests() {
    try {
      return new JcaDigestCalculatorProviderBuilder().build();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  public static void main(String[] args) throws Exception {
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      try {
        switch (words[0]) {
          case "judge" -> judge(record(words[1]), new ERSByteData(bytes(words[2])));
          case "batch" -> batch(calculator(words[1]), Arrays.asList(words).subList(2, words.length));
          case "renew" -> renew(record(words[1]));
          case "rehash" -> rehash(calculator(words[1]), record(words[2]), new ERSByteData(bytes(words[3])));
          default -> say("refused: unknown command");
        }
      } catch (Exception e) {
        say("refused: " + e.getMessage());
      }
      say("done");
    }
  }

  static void judge(ERSEvidenceRecord record, ERSData document) throws Exception {
    record.validate(new JcaSimpleSignerInfoVerifierBuilder().build(record.getSigningCertificate()));
    record.validatePresent(document, new Date());
    say("taken");
  }

  static void batch(DigestCalculator calculator, List<String> documents) throws Exception {
    ERSArchiveTimeStampGenerator generator = new ERSArchiveTimeStampGenerator(calculator);
    for (String one : documents) generator.addData(data(one));
    TimeStampResponse answer = ask(generator.generateTimeStampRequest(requests()));
    for (ERSEvidenceRecord record : new ERSEvidenceRecordGenerator(digests).generate(generator.generateArchiveTimeStamps(answer))) tell(record);
  }

  static void renew(ERSEvidenceRecord record) throws Exception {
    tell(record.renewTimeStamp(ask(record.generateTimeStampRenewalRequest(requests()))));
  }

  static void rehash(DigestCalculator calculator, ERSEvidenceRecord record, ERSData document) throws Exception {
    tell(record.renewHash(calculator, document, ask(record.generateHashRenewalRequest(calculator, document, requests()))));
  }

  static TimeStampRequestGenerator requests() {
    TimeStampRequestGenerator generator = new TimeStampRequestGenerator();
    generator.setCertReq(true);
    return generator;
  }

  static TimeStampResponse ask(TimeStampRequest request) throws Exception {
    say("ask " + Base64.getEncoder().encodeToString(request.getEncoded()));
    TimeStampResponse answer = new TimeStampResponse(bytes(in.readLine()));
    answer.validate(request);
    return answer;
  }

  static ERSData data(String text) {
    List<ERSData> parts = new ArrayList<>();
    for (String one : text.split(",")) parts.add(new ERSByteData(bytes(one)));
    return parts.size() == 1 ? parts.get(0) : new ERSDataGroup(parts.toArray(new ERSData[0]));
  }

  static DigestCalculator calculator(String oid) throws Exception {
    return digests.get(new AlgorithmIdentifier(new ASN1ObjectIdentifier(oid)));
  }

  static ERSEvidenceRecord record(String base64) throws Exception {
    return new ERSEvidenceRecord(bytes(base64), digests);
  }

  static byte[] bytes(String base64) {
    return Base64.getDecoder().decode(base64);
  }

  static void tell(ERSEvidenceRecord record) throws Exception {
    say("record " + Base64.getEncoder().encodeToString(record.getEncoded()));
  }

  static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
