import java.net.URI;
import java.sql.DriverManager;

/** JDBC has a form of its own for the user: what stands before the `@` goes behind the `?`. */
class Jdbc {
  public static void main(String[] words) throws Exception {
    var address = URI.create(words[0]);
    var who = address.getUserInfo().split(":");
    var query = address.getQuery() == null ? "" : "&" + address.getQuery();
    var url = "jdbc:postgresql://" + address.getHost() + ":" + address.getPort() + address.getPath()
        + "?user=" + who[0] + "&password=" + who[1] + query;
    try (var connection = DriverManager.getConnection(url);
        var statement = connection.prepareStatement("select 40 + ?")) {
      statement.setInt(1, 2);
      var rows = statement.executeQuery();
      rows.next();
      System.out.println(rows.getInt(1));
    }
  }
}
