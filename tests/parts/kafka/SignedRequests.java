import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Takes tokens as Amazon MSK does: a request kafka-cluster:Connect that AWS credentials signed (Signature Version 4), in
 * URL-safe base64. https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html
 *
 * The broker's JAAS entry has the credentials that are good: accessKey, secretKey, region.
 */
public class SignedRequests implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter MOMENT =
        DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final String EMPTY = "";
    private Map<String, ?> options;

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
        options = entries.get(0).getOptions();
    }

    @Override
    public void handle(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback asked) {
                try {
                    asked.token(checked(asked.tokenValue()));
                } catch (Exception wrong) {
                    asked.error("invalid_token", null, null);
                }
            } else if (callback instanceof OAuthBearerExtensionsValidatorCallback extensions) {
                extensions.inputExtensions().map().keySet().forEach(extensions::valid);
            }
        }
    }

    private OAuthBearerToken checked(String token) throws Exception {
        URI url = URI.create(new String(Base64.getUrlDecoder().decode(token), StandardCharsets.UTF_8));
        TreeMap<String, String> query = new TreeMap<>();
        for (String part : url.getRawQuery().split("&")) {
            query.put(part.substring(0, part.indexOf('=')), part.substring(part.indexOf('=') + 1));
        }
        String signature = query.remove("X-Amz-Signature");
        query.remove("User-Agent"); // which is added to a request that is signed already
        String scope = URLDecoder.decode(query.get("X-Amz-Credential"), StandardCharsets.UTF_8);
        String[] parts = scope.split("/", 5);
        String region = (String) options.get("region");
        require(url.getHost().equals("kafka." + region + ".amazonaws.com"));
        require(URLDecoder.decode(query.get("Action"), StandardCharsets.UTF_8).equals("kafka-cluster:Connect"));
        require(parts[0].equals(options.get("accessKey")) && parts[2].equals(region));
        require(parts[3].equals("kafka-cluster") && parts[4].equals("aws4_request"));
        String moment = query.get("X-Amz-Date");
        Instant start = Instant.from(MOMENT.parse(moment));
        Instant end = start.plusSeconds(Long.parseLong(query.get("X-Amz-Expires")));
        require(Instant.now().isBefore(end));
        String written =
            query.entrySet().stream().map(one -> one.getKey() + "=" + one.getValue()).collect(Collectors.joining("&"));
        String request = String.join("\n", "GET", "/", written, "host:" + url.getHost(), EMPTY, "host", hash(EMPTY));
        String inScope = scope.substring(scope.indexOf('/') + 1);
        byte[] key = ("AWS4" + options.get("secretKey")).getBytes(StandardCharsets.UTF_8);
        for (String part : inScope.split("/")) {
            key = signed(key, part);
        }
        String text = String.join("\n", "AWS4-HMAC-SHA256", moment, inScope, hash(request));
        require(HexFormat.of().formatHex(signed(key, text)).equals(signature));
        return new Token(token, start.toEpochMilli(), end.toEpochMilli());
    }

    private static void require(boolean holds) {
        if (!holds) {
            throw new IllegalArgumentException();
        }
    }

    private static String hash(String text) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(digest);
    }

    private static byte[] signed(byte[] key, String text) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
    }

    private record Token(String value, Long startTimeMs, long lifetimeMs) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public String principalName() {
            return "iam";
        }
    }
}
