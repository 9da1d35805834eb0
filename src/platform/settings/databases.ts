/** The settings of databases. */
import { setting } from './entries.ts'
import { count, onOff, textLike } from './readers.ts'

/** A part of the table of settings. */
export const databaseSettings = {
  domain: setting(
    'BERTH_DOMAIN',
    textLike(
      /^(?=.{1,200}$)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))*$/,
      'a domain in lower case, such as example.com',
    ),
    'berth.localhost',
    'the domain of databases: each is at `<id>.db.` and this',
  ),
  databaseSleepSeconds: setting(
    'BERTH_DATABASE_SLEEP_SECONDS',
    count('seconds after which a database that nobody uses sleeps, 10 or more, or 0 for never'),
    900,
    'after so many seconds without clients a new database sleeps, unless its own setting says otherwise; `0` is never',
  ),
  opensSqlDoor: setting('BERTH_SQL', onOff, true, 'whether clients reach databases by `POST /sql` too'),
}
