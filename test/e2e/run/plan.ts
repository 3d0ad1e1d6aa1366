import { mkdirSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { openStore } from '../../../src/store/open.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import type { Pcc } from '../../cli/pcc.ts'

/** Tasks by their titles, each with those it comes after, before a daemon looks at them. */
export async function plan(pcc: Pcc, project: string, tasks: [string, ...string[]][]): Promise<Map<string, string>> {
  const { database } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(database), { recursive: true })
  await using store = await openStore({ file: database })
  const known = openTasks({ store, clock: { now: Date.now } })
  const ids = new Map<string, string>()
  for (const [text, ...before] of tasks) {
    const after = before.map(title => ids.get(title) ?? '')
    const request = { session_id: null, project: realpathSync(project), text, after }
    ids.set(text, (await store.transaction(tx => known.submit(request, tx))).id)
  }
  return ids
}
