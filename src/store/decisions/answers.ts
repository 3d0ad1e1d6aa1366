import type { Kysely } from 'kysely'
import type { RememberedAnswer } from '../../domain/escalation.ts'
import type { Answers } from '../store.ts'
import type { Tables } from '../tables.ts'
import type { Writer } from '../writer.ts'

/** Opens the table. */
export function openAnswers(read: Kysely<Tables>, writer: Writer): Answers {
  return {
    put: (answer, tx) => (tx ? put(tx.db, answer) : writer.transaction(own => put(own.db, answer))),
    find: findAnswer(read),
  }
}

/** The answer to a request in a project, for who only reads. */
export function findAnswer(read: Kysely<Tables>): Answers['find'] {
  return (project, fingerprint) =>
    read
      .selectFrom('answers')
      .selectAll()
      .where('project', '=', project)
      .where('fingerprint', '=', fingerprint)
      .executeTakeFirst()
}

async function put(db: Kysely<Tables>, { project, fingerprint, ...said }: RememberedAnswer): Promise<void> {
  await db
    .insertInto('answers')
    .values({ project, fingerprint, ...said })
    .onConflict(same => same.columns(['project', 'fingerprint']).doUpdateSet(said))
    .execute()
}
