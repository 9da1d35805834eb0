// Asks with pgx and with lib/pq: main <driver> <address>.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v4"
	_ "github.com/lib/pq"
)

func main() {
	sum := 0
	if os.Args[1] == "pgx" {
		connection, err := pgx.Connect(context.Background(), os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		if err := connection.QueryRow(context.Background(), "select 40 + $1::int", 2).Scan(&sum); err != nil {
			log.Fatal(err)
		}
	} else {
		db, err := sql.Open("postgres", os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		if err := db.QueryRow("select 40 + $1::int", 2).Scan(&sum); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(sum)
}
