import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.cert.CertPathBuilder;
import java.security.cert.CertStore;
import java.security.cert.CertificateFactory;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.Set;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.tsp.TSPAlgorithms;
import org.bouncycastle.tsp.TimeStampRequest;
import org.bouncycastle.tsp.TimeStampRequestGenerator;
import org.bouncycastle.tsp.TimeStampResponse;
import org.bouncycastle.tsp.TimeStampToken;

/** Bouncy Castle as a client of a TSA: {@code stamp|verify URL ROOT ANSWER}; what is stamped is the file of the root certificate. */
public class TimeStampClient {
  public static void main(String[] args) throws Exception {
    Path root = Path.of(args[2]), answer = Path.of(args[3]), request = Path.of(args[3] + ".tsq");
    if (args[0].equals("stamp")) stamp(URI.create(args[1]), root, request, answer);
    else verify(root, request, answer);
  }

  static void stamp(URI url, Path root, Path requestFile, Path answerFile) throws Exception {
    TimeStampRequestGenerator generator = new TimeStampRequestGenerator();
    generator.setCertReq(true);
    byte[] digest = MessageDigest.getInstance("SHA-384").digest(Files.readAllBytes(root));
    TimeStampRequest request = generator.generate(TSPAlgorithms.SHA384, digest, new java.math.BigInteger(64, new java.security.SecureRandom()));
    HttpRequest sent =
        HttpRequest.newBuilder(url)
            .header("Content-Type", "application/timestamp-query")
            .POST(HttpRequest.BodyPublishers.ofByteArray(request.getEncoded()))
            .build();
    HttpResponse<byte[]> reply = HttpClient.newHttpClient().send(sent, HttpResponse.BodyHandlers.ofByteArray());
    new TimeStampResponse(reply.body()).validate(request);
    Files.write(requestFile, request.getEncoded());
    Files.write(answerFile, reply.body());
  }

  static void verify(Path rootFile, Path requestFile, Path answerFile) throws Exception {
    TimeStampResponse answer = new TimeStampResponse(Files.readAllBytes(answerFile));
    answer.validate(new TimeStampRequest(Files.readAllBytes(requestFile)));
    TimeStampToken token = answer.getTimeStampToken();
    JcaX509CertificateConverter converter = new JcaX509CertificateConverter();
    @SuppressWarnings("unchecked")
    Collection<X509CertificateHolder> signers = token.getCertificates().getMatches(token.getSID());
    X509Certificate signer = converter.getCertificate(signers.iterator().next());
    token.validate(new JcaSimpleSignerInfoVerifierBuilder().build(signer));

    List<X509Certificate> known = new ArrayList<>();
    for (X509CertificateHolder one : token.getCertificates().getMatches(null)) known.add(converter.getCertificate(one));
    X509Certificate root =
        (X509Certificate)
            CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(Files.readAllBytes(rootFile)));
    X509CertSelector target = new X509CertSelector();
    target.setCertificate(signer);
    PKIXBuilderParameters parameters = new PKIXBuilderParameters(Set.of(new TrustAnchor(root, null)), target);
    parameters.addCertStore(CertStore.getInstance("Collection", new CollectionCertStoreParameters(known)));
    parameters.setRevocationEnabled(false);
    parameters.setDate(new Date(token.getTimeStampInfo().getGenTime().getTime()));
    CertPathBuilder.getInstance("PKIX").build(parameters);
  }
}
