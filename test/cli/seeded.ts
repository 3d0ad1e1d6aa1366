import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { appPathsFor } from '../../src/base/app-paths.ts'
import type { NewEvent } from '../../src/domain/event.ts'
import { openStore } from '../../src/store/open.ts'
import type { SessionRow } from '../../src/store/tables.ts'
import type { Pcc } from './pcc.ts'

/** Writes ended sessions and their events to the store before a daemon opens it. */
export async function seed(pcc: Pcc, rows: Partial<SessionRow>[], events: NewEvent[] = []): Promise<void> {
  const { database } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(database), { recursive: true })
  await using store = await openStore({ file: database })
  for (const row of rows) await store.sessions.insert(completeRow(row))
  await store.append(events)
}

/** Reads events from the store without a daemon. */
export async function storedEvents(pcc: Pcc, subject: string) {
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  return await store.events({ subject })
}

function completeRow(row: Partial<SessionRow>): SessionRow {
  return {
    id: 's-aaaaaa',
    name: 'first',
    project: '/nowhere/project',
    task: 'Build it',
    agent: 'claude',
    model: 'claude-test',
    vendor_id: 'v-1',
    options: { project: '/nowhere/project', task: 'Build it' },
    owner: 'boot-gone',
    state: 'ended',
    status_reason: null,
    ended_as: 'completed',
    created_at: 1_768_300_000_000,
    started_at: 1_768_300_001_000,
    ended_at: 1_768_300_060_000,
    resumes_at: null,
    activity: null,
    plan: [],
    input_tokens: 10,
    output_tokens: 20,
    context_tokens: 45_231,
    context_window: 200_000,
    cost_usd: 0.5,
    turns: 2,
    tools_auto: 1,
    tools_human: 0,
    tools_denied: 0,
    questions_auto: 0,
    questions_human: 0,
    parked: null,
    account: null,
    marker: null,
    agent_pid: null,
    agent_started: null,
    task_id: null,
    retries: 0,
    recoveries: 0,
    intent: null,
    priority: 0,
    held_at: null,
    ...row,
  }
}
