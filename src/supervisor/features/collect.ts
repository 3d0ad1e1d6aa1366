import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { type DocumentKind, documentIn, MAX_DOCUMENT } from '../../domain/features/document.ts'
import { cleanLine } from '../../domain/tasks/requests.ts'
import type { FeatureRow } from '../../store/features/rows.ts'
import type { Store, Tx } from '../../store/store.ts'
import { documentPath, readDocument, writeDocument } from '../../tasks/features/files.ts'
import { tasksOfPlan } from '../../tasks/features/tasks-of-plan.ts'
import { importTasks } from '../../tasks/files/import-tasks.ts'

export interface CollectParts {
  store: Store
  clock: Clock
}

/**
 * Takes over what the session of a phase has come to, and gives the row from now on. A file is written once: where there is
 * one, it is the person's and stays. Tasks become real all together. Doing it twice, after a crash, comes to the same.
 */
export async function collect(row: FeatureRow, session: string, parts: CollectParts): Promise<Partial<FeatureRow>> {
  const free = { session_id: null, problem: null }
  switch (row.phase) {
    case 'interview':
    case 'spec': {
      const written = await documentOf(row, session, 'spec', parts)
      if (written) return { ...free, phase: 'plan' }
      // It has what it was to find out, and did not write it down: that is done from what was said.
      if (row.phase === 'interview') return { ...free, phase: 'spec' }
      return { ...free, problem: await withoutDocument(row, session, 'spec', parts) }
    }
    case 'plan': {
      const written = await documentOf(row, session, 'plan', parts)
      if (written) return { ...free, phase: 'tasks' }
      return { ...free, problem: await withoutDocument(row, session, 'plan', parts) }
    }
    case 'tasks':
      await commitTasks(row, { ...parts, drafted: true })
      return { ...free, phase: 'ready' }
    case 'ready':
      return free
  }
}

/** The tasks of a feature, out of what its agent has added, else out of the check-list of its plan. Throws `no_plan`. */
export async function commitTasks(
  row: FeatureRow,
  { store, clock, drafted }: CollectParts & { drafted: boolean },
): Promise<void> {
  const { project, name } = row
  const tasks = drafted && row.draft.length > 0 ? row.draft : await tasksOfPlan(await readDocument(row, 'plan'), row)
  await store.transaction(async tx => {
    if (await isDone(row, store, tx)) return
    const named = tasks.map(task => ({ ...task, feature: name }))
    await importTasks(named, { project, copy: true }, { store, clock, tx })
    await store.features.update(row.id, { phase: 'ready', draft: [], session_id: null, problem: null }, tx)
  })
}

async function isDone({ id }: FeatureRow, store: Store, tx: Tx): Promise<boolean> {
  return (await store.features.get(id, tx))?.phase === 'ready'
}

async function documentOf(row: FeatureRow, session: string, kind: DocumentKind, parts: CollectParts) {
  const text = documentIn(await lastWords(session, parts), kind)
  if (text === undefined) return (await readDocument(row, kind)) !== undefined
  if (text.length > MAX_DOCUMENT)
    throw new AppError('feature_file', { path: `the ${kind} of ${session}`, problem: 'it is too long' })
  const path = documentPath(row, kind)
  const isThere = (await writeDocument(row, kind, text)) || (await readDocument(row, kind)) !== undefined
  if (!isThere) throw new AppError('feature_file', { path, problem: 'it is empty; write it, or remove it' })
  return true
}

async function lastWords(session: string, { store }: CollectParts): Promise<string> {
  const done = (await store.tasks.list({ session })).findLast(({ state }) => state === 'done')
  return done?.result ?? ''
}

/** Why a phase came to nothing: what its agent said instead, and that the person may write the file as well. */
async function withoutDocument(row: FeatureRow, session: string, kind: DocumentKind, parts: CollectParts) {
  const said = cleanLine(await lastWords(session, parts))
    .slice(0, LONGEST)
    .toWellFormed()
  const instead = said === '' ? 'it said nothing' : `it said: ${said}`
  return `Its session ${session} ended without a ${kind}; ${instead}\nTry again, or write it yourself: ${documentPath(row, kind)}`
}

/** Of what an agent said in place of a document: enough to see what it wanted. */
const LONGEST = 300
