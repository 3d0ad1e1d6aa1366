import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import type { SessionFilter, Store } from '../../src/store/store.ts'
import type { NewSessionRow, SessionRow } from '../../src/store/tables.ts'
import { DATABASES } from './databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: a new session starts empty and is read as it was returned`, async t => {
    const store = await open(t, { clock: { now: () => 50 } })
    const inserted = await store.sessions.insert(session('s-aaaaaa', 'one'))
    assert.equal(inserted.state, 'starting')
    assert.equal(inserted.created_at, 50)
    assert.deepEqual(inserted.options, { project: '/p', task: 'do it' })
    assert.deepEqual(await store.sessions.get('s-aaaaaa'), inserted)
    assert.equal(await store.sessions.get('s-aaaaab'), undefined)
  })

  test(`${name}: every column of a session can be changed and read back`, async t => {
    const store = await open(t)
    await store.sessions.insert(session('s-aaaaaa', 'one'))
    const { id, ...changes } = FULL
    await store.sessions.update(id, changes)
    assert.deepEqual(await store.sessions.get(id), FULL)
    await store.sessions.update(id, { parked: null, plan: [] })
    assert.deepEqual(await store.sessions.get(id), { ...FULL, parked: null, plan: [] })
  })

  test(`${name}: a change affects only the named columns, and an empty change affects nothing`, async t => {
    const store = await open(t)
    await store.sessions.insert(FULL)
    await store.sessions.update(FULL.id, {})
    await store.sessions.update(FULL.id, { turns: 9 })
    assert.deepEqual(await store.sessions.get(FULL.id), { ...FULL, turns: 9 })
  })

  test(`${name}: a change to a missing session is refused and rolls back its transaction`, async t => {
    const store = await open(t)
    await store.sessions.insert(session('s-aaaaaa', 'one'))
    const both = store.transaction(async tx => {
      await store.sessions.update('s-aaaaaa', { turns: 3 }, tx)
      await store.sessions.update('s-bbbbbb', { turns: 3 }, tx)
    })
    await assert.rejects(both, { code: 'session_unknown' })
    assert.equal((await store.sessions.get('s-aaaaaa'))?.turns, 0)
  })

  test(`${name}: an id is given only once`, async t => {
    const store = await open(t)
    await store.sessions.insert(session('s-aaaaaa', 'one'))
    await assert.rejects(store.sessions.insert(session('s-aaaaaa', 'two')))
    assert.deepEqual(
      (await store.sessions.list()).map(row => row.name),
      ['one'],
    )
  })

  test(`${name}: sessions are listed newest first, for one project where asked`, async t => {
    const store = await open(t)
    await store.sessions.insert({ ...session('s-1', 'old'), created_at: 1 })
    await store.sessions.insert({ ...session('s-2', 'other'), created_at: 2, project: '/q' })
    await store.sessions.insert({ ...session('s-3', 'new'), created_at: 3 })
    assert.deepEqual(
      (await store.sessions.list()).map(row => row.id),
      ['s-3', 's-2', 's-1'],
    )
    assert.deepEqual(
      (await store.sessions.list({ project: '/p' })).map(row => row.id),
      ['s-3', 's-1'],
    )
    assert.deepEqual(await store.sessions.list({ project: '/P' }), [])
  })

  test(`${name}: of many sessions only those are listed that are at work, not over, marked or parked, and as many as asked for`, async t => {
    const store = await open(t)
    const ended = (as: SessionRow['ended_as'], at: number) => ({ state: 'ended' as const, ended_as: as, ended_at: at })
    const rows: Record<string, Partial<SessionRow>> = {
      's-1': ended('completed', 10),
      's-2': ended('error', 20),
      's-3': { ...ended('paused', 30), marker: 'm' },
      's-4': { ...ended('stopped', 40), resumes_at: 99 },
      's-5': { state: 'asking', marker: 'm' },
      's-6': { ...ended('waiting_input', 60), parked: FULL.parked },
    }
    for (const [id, row] of Object.entries(rows))
      await store.sessions.insert({ ...session(id, id), created_at: Number(id.slice(2)), ...row })
    const ids = async (filter: SessionFilter) =>
      (await store.sessions.list(filter)).map(({ id }) => id.slice(2)).join('')
    assert.equal(await ids({ only: 'live' }), '5')
    assert.equal(await ids({ only: 'open' }), '6543')
    assert.equal(await ids({ only: 'open', since: 20 }), '65432')
    assert.equal(await ids({ only: 'marked' }), '53')
    assert.equal(await ids({ only: 'parked' }), '6')
    assert.equal(await ids({ limit: 2 }), '65')
    assert.deepEqual([await store.sessions.count(), await store.sessions.count({ project: '/q' })], [6, 0])
  })

  test(`${name}: a session is found by id, by name and by the beginning of either`, async t => {
    const store = await open(t)
    await fill(store, { 's-3fa91c': 'parser', 's-3fb000': 'parser-two', 's-c0ffee': 'Docs ☕ page' })
    for (const [ref, id] of [
      ['s-3fa91c', 's-3fa91c'],
      ['3fa91c', 's-3fa91c'],
      ['s-3fa', 's-3fa91c'],
      ['3fb', 's-3fb000'],
      ['c', 's-c0ffee'],
      ['parser', 's-3fa91c'],
      ['parser-', 's-3fb000'],
      ['Docs ☕', 's-c0ffee'],
    ] as const) {
      assert.equal((await store.sessions.resolve(ref)).id, id, ref)
    }
  })

  test(`${name}: an ambiguous reference is refused with the matching sessions`, async t => {
    const store = await open(t)
    await fill(store, {
      's-3fa91c': 'parser',
      's-3fb000': 'parser-two',
      's-aaaaaa': 'same',
      's-bbbbbb': 'same',
      's-pa0000': 'x',
    })
    for (const [ref, ...matches] of [
      ['3f', 's-3fa91c', 's-3fb000'],
      ['pars', 's-3fa91c', 's-3fb000'],
      ['same', 's-aaaaaa', 's-bbbbbb'],
      ['pa', 's-3fa91c', 's-3fb000', 's-pa0000'],
    ] as const) {
      const error = await store.sessions.resolve(ref).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof AppError)
      assert.equal(error.code, 'session_ambiguous')
      for (const id of matches) assert.ok(error.message.includes(id), `${ref}: ${error.message}`)
    }
  })

  test(`${name}: a reference without a match is unknown, and it is never a pattern`, async t => {
    const store = await open(t)
    await fill(store, { 's-3fa91c': 'parser' })
    for (const ref of ['', 'zz', '%', '_', 's-3fa91c0', 'PARSER', '3FA', "' or 1=1 --", '☕', 'arser']) {
      await assert.rejects(store.sessions.resolve(ref), { code: 'session_unknown' }, ref)
    }
  })

  test(`${name}: a session whose JSON was damaged stays listable`, async t => {
    const store = await open(t)
    await store.sessions.insert(FULL)
    await store.transaction(tx =>
      tx.db.updateTable('sessions').set({ options: '{', plan: 'x', parked: ']' }).where('id', '=', FULL.id).execute(),
    )
    const [row] = await store.sessions.list()
    assert.deepEqual([row?.options, row?.plan, row?.parked], [{ project: FULL.project, task: FULL.task }, [], null])
  })
}

const FULL: SessionRow = {
  id: 's-aaaaaa',
  name: 'full',
  project: '/q',
  task: 'another',
  agent: 'claude',
  model: 'opus',
  vendor_id: 'v-1',
  options: { project: '/q', task: 'another', max_turns: 3, allowed_tools: ['Read'] },
  owner: 'boot-1',
  state: 'ended',
  status_reason: 'because',
  ended_as: 'waiting_input',
  created_at: 1_700_000_000_000,
  started_at: 1_700_000_000_001,
  ended_at: 1_700_000_000_002,
  resumes_at: 1_700_000_000_003,
  activity: 'Write x',
  plan: [{ text: 'first', state: 'done' }],
  input_tokens: 1,
  output_tokens: 2,
  context_tokens: 3,
  context_window: 200_000,
  cost_usd: 0.123456789,
  turns: 4,
  tools_auto: 5,
  tools_human: 6,
  tools_denied: 7,
  questions_auto: 8,
  questions_human: 9,
  parked: { ask_id: 'a', call_id: 'c', questions: [], reason: 'nobody is there' },
  account: 'acc',
  marker: 'mark',
  agent_pid: 4242,
  agent_started: '123456',
  task_id: 't-0a1b2c',
  retries: 2,
  recoveries: 1,
  intent: 'pause',
  priority: 7,
  held_at: 1_700_000_000_003,
}

function session(id: string, name: string): NewSessionRow {
  return { id, name, project: '/p', task: 'do it', agent: 'claude' }
}

async function fill(store: Store, names: Record<string, string>): Promise<void> {
  for (const [id, name] of Object.entries(names)) await store.sessions.insert(session(id, name))
}
