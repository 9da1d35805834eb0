/** What the pool of a database asks of its clients. */
import type { Backend } from './backend.ts'
import type { Admission } from './directory.ts'
import type { PostgresRefusal } from './refusals.ts'

/** A client, as the pool knows it. */
export type Lessee = {
  readonly admission: Pick<Admission, 'kind' | 'network'>
  /**
   * Since when it has been idle with a backend that it may be able to give back, 0 when it has said nothing on it yet; null
   * while it works, or is known to need it.
   */
  idleSinceMs(): number | null
  /** The generation of its backend; null without one. */
  generation(): number | null
  /** Whether it has asked for nothing that is not answered, and is in no transaction. */
  isIdle(): boolean
  /**
   * Gives its backend back, if nothing of its session is in it. One that does not say so in time is late: it goes to the pool then.
   * @param patienceMs how long to wait for what the backend says
   */
  release(patienceMs: number): Promise<Backend | 'late' | null>
  /** Tells it why it must leave, and sees to it that it does. */
  end(refusal: PostgresRefusal): void
  /** Called every second: says so where the database is used. */
  beat(): void
}
