import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { HOOK_VENDORS, type HookEvent } from '../../../src/domain/hooks.ts'
import { noteFolder } from '../../../src/memory/outbox.ts'
import { openStore } from '../../../src/store/open.ts'
import { answerInline } from '../../../src/supervisor/hooks/answer-inline.ts'
import { observedId } from '../../../src/supervisor/hooks/capture.ts'
import { HookOutbox } from '../../../src/supervisor/hooks/outbox.ts'
import { tellContext } from '../../../src/supervisor/hooks/prompt-context.ts'
import { openHookMemory } from '../../../src/supervisor/memory/hook-memory.ts'
import { openLearner } from '../../../src/supervisor/memory/learner.ts'
import { openProjectMemory } from '../../../src/supervisor/memory/project-memory.ts'
import { fact, PERSON } from '../../memory/records.ts'
import { answerBy, openHookWorld } from '../hooks/hook-world.ts'

test('without a daemon, hooks learn from a conversation at its end and tell the next one, and a daemon learns nothing twice', async t => {
  const world = openHookWorld(t)
  const { home, project, paths } = world
  noteFolder(paths)
  const ask = async (native: string, session: string, more: object = {}) => {
    const stdin = Buffer.from(JSON.stringify({ hook_event_name: native, session_id: session, cwd: project, ...more }))
    const caller = { id: `${session}-${native}`, ppid: 0, folder: project, env: { HOME: home } }
    const answered = await answerInline({ vendor: 'claude', native, stdin, caller, paths, withinMs: 30_000 })
    return answered.stdout
  }
  const subject = observedId({ vendor: 'claude', session: 'c-1' })
  const output = (id: string, command: string, exit_code: number, stderr = '') => ({
    ...{ at: Date.now(), subject, about: { pid: null, start_time: null, model: null } },
    body: {
      ...{ id, vendor: HOOK_VENDORS[0], session: 'c-1', project, type: 'bash_output' as const },
      ...{ command, exit_code, stdout: '', stderr, duration_ms: 1 },
    },
  })
  const rows = [output('h-1', 'make check', 2, 'make: *** No rule to make target'), output('h-2', 'sh check.sh', 0)]
  new HookOutbox(paths).add(rows)
  const tell = async (session: string) => {
    const learned = (event: HookEvent) => openHookMemory(paths, 60_000).recall(event, project, null)
    const event = world.event('prompt', { session, text: 'Check the cart please' })
    return (await answerBy(tellContext({ learned, budgetMs: 60_000 }), event, world.context())).context
  }
  assert.equal(await tell('c-0'), undefined, 'nothing is known yet')
  await ask('SessionEnd', 'c-1', { reason: 'exit' })
  assert.match((await tell('c-2')) ?? '', /Learned here before \(from pcc memory.*sh check\.sh.*20\d\d-/s)
  assert.equal(await tell('c-2'), undefined, 'once in a conversation')

  using memory = openProjectMemory(paths)
  await using store = await openStore({ file: `${home}/db` })
  await store.observed.capture(rows)
  const stored: string[] = []
  const learner = openLearner({
    ...{ store, paths, log: silentLog, knownFixes: () => [], deadEnds: () => [], recallOf: () => undefined },
    keysOf: () => memory.keysOf(project),
    write: async records => {
      const { stored: fresh } = memory.write(records)
      stored.push(...records.filter(({ id }) => fresh.includes(id)).map(({ kind }) => kind))
    },
  })
  await learner.catchUp()
  assert.deepEqual(stored, ['procedure'], 'which hooks may not write: an agent without a sandbox could write it, too')
})

test('a hook waits neither for a process that writes nor for what is not derived, and says nothing rather than late', async t => {
  const world = openHookWorld(t)
  const { project, paths } = world
  noteFolder(paths)
  const event = world.event('prompt', { session: 'c-1', text: 'How are migrations run?' })
  const recall = (withinMs: number) => openHookMemory(paths, withinMs).recall(event, project, null)
  assert.equal(await recall(60_000), undefined, 'there is no memory yet')
  using memory = openProjectMemory(paths)
  const [of] = await memory.keysOf(project)
  memory.write([fact('Migrations are run with the tool marzipan.', { of })])
  memory.broker.catchUp()
  memory.write([fact('Migrations are run on Mondays, and this is not derived yet.', { of })])
  using lock = new DatabaseSync(join(paths.memory, 'lock.db'))
  lock.exec('begin immediate')
  using file = new DatabaseSync(join(paths.memory, 'memory.db'))
  file.exec('begin immediate')
  assert.match(
    (await recall(60_000)) ?? '',
    /^- Migrations are run with the tool marzipan\. \(said by a person on .*\)$/,
  )
  assert.equal(await recall(0), undefined, 'its time is over before the search')
})

test('what a hook learned while another process wrote is not lost: whoever is next stores it, once', async t => {
  const world = openHookWorld(t)
  const { project, paths } = world
  noteFolder(paths)
  const subject = observedId({ vendor: 'claude', session: 'c-1' })
  const ran = (id: string, command: string, exit_code: number) => ({
    ...{ at: Date.now(), subject, about: { pid: null, start_time: null, model: null } },
    body: {
      ...{ id, vendor: HOOK_VENDORS[0], session: 'c-1', project, type: 'bash_output' as const, role: 'conductor' },
      ...{ command, exit_code, stdout: '', stderr: '', duration_ms: 1 },
    },
  })
  new HookOutbox(paths).add([ran('h-1', 'make check', 2), ran('h-2', 'sh check.sh', 0)])
  const tidy = (session: string) =>
    openHookMemory(paths).tidy(world.event('session_end', { session, reason: 'exit' }), project, { retentionDays: 90 })
  const episodes = () => {
    using memory = openProjectMemory(paths)
    return memory.broker.find({ reader: PERSON, kinds: ['episode'] }).map(({ item }) => item)
  }
  {
    using memory = openProjectMemory(paths)
    using lock = new DatabaseSync(join(memory.broker.folder, 'lock.db'))
    lock.exec('begin immediate')
    await tidy('c-1')
    lock.exec('rollback')
  }
  assert.deepEqual(episodes(), [])
  await tidy('c-2')
  assert.equal(episodes().length, 1, 'by a hook of another conversation')
  await tidy('c-1')
  const [episode, more] = episodes()
  assert.match(episode?.text ?? '', /`make check` fails here.*sh check\.sh/s)
  assert.deepEqual([more, episode?.records.length], [undefined, 1])
  using memory = openProjectMemory(paths)
  assert.equal(memory.broker.record(episode?.records[0] ?? '', PERSON)?.role, 'conductor')
})
