import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HookAnswer } from '../../../src/domain/hooks.ts'
import { grantTrust, trustStatus } from '../../../src/policy/trust/trust.ts'
import { openStore } from '../../../src/store/open.ts'
import { type HookFeatureDeps, openFeatures } from '../../../src/supervisor/hooks/features.ts'
import { countBlock, holdStops, type StopGateDeps } from '../../../src/supervisor/hooks/stop-gates.ts'
import { commandMarkers } from '../../../src/workspace/command/run-command.ts'
import { commitAll, tempDir } from '../../support/world.ts'
import { answerBy, type HookWorld, openHookWorld } from './hook-world.ts'

/** A test that passes once `ok` exists, and counts how often it ran. */
const GATE = `[gates]\ntest = "echo run >> ../ran-$(basename $PWD); test -e ok"\n`
const CLAIM = { text: 'Done.', again: false, background: 0 }

function ask(world: HookWorld, more: object = {}, deps: StopGateDeps = {}): Promise<HookAnswer> {
  return answerBy(holdStops(deps), world.event('stop', { ...CLAIM, ...more }), world.context())
}

/** Gates write outside of the project only where no sandbox holds them. */
const OPEN = `${GATE}[agents]\nsandbox = "off"\nisolation = "marker"\n`

function runs(world: HookWorld): number {
  const file = join(world.project, '..', `ran-${world.project.split('/').at(-1)}`)
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
}

function openWorld(t: Parameters<typeof openHookWorld>[0], more = ''): HookWorld {
  const world = openHookWorld(t, { settings: `${OPEN}${more}` })
  t.after(() => rmSync(join(world.project, '..', `ran-${world.project.split('/').at(-1)}`), { force: true }))
  return world
}

test('an agent that says that it is done while a test fails goes on with the report, once for the same files', async t => {
  const world = openWorld(t)
  const first = await ask(world)
  assert.equal(first.decision, 'continue')
  assert.match(first.reason ?? '', /test \(.*test -e ok.*\) failed/s)
  assert.match(first.reason ?? '', /time 1 of at most 3/)
  const second = await ask(world, { again: true })
  assert.equal(second.decision, 'none')
  assert.match(second.notice ?? '', /stops although these checks failed: test/)
  assert.equal(runs(world), 1, 'nothing runs for files that were checked')
  assert.equal((await ask(world)).notice, undefined, 'the person is told once')
  world.write('other', 'x')
  assert.equal((await ask(world)).decision, 'continue')
  world.write('ok', '')
  assert.equal((await ask(world)).decision, 'none')
  const after = runs(world)
  assert.equal((await ask(world)).decision, 'none')
  assert.equal(runs(world), after, 'nothing runs for files that passed')
})

test('the checks run in the sandbox', async t => {
  const file = join(tempDir(t), 'of-the-person') // in the machine's /tmp, which no sandbox shows
  writeFileSync(file, '')
  const world = openHookWorld(t, { settings: `[gates]\ntest = "test ! -e ${file} || exit 7; test -e ok"\n` })
  assert.match((await ask(world)).reason ?? '', /failed with exit code 1\./)
})

test('nothing runs where the agent does not say that it is done, has a full context or work in the background', async t => {
  const world = openWorld(t)
  for (const more of [
    { text: 'The first part is done, next I will write the tests.' },
    { text: '' },
    { background: 1 },
  ])
    assert.deepEqual(await ask(world, more), { schema_version: 1, decision: 'none' })
  const transcript = join(world.home, 'transcript.jsonl')
  const usage = { input_tokens: 100, cache_read_input_tokens: 185_000, output_tokens: 900 }
  writeFileSync(transcript, `${JSON.stringify({ type: 'assistant', message: { id: 'm', usage } })}\n`)
  const full = await ask(world, { transcript })
  assert.equal(full.decision, 'none')
  assert.match(full.notice ?? '', /context of the agent is full.*pcc gates run/)
  assert.equal(runs(world), 0)
  const asked = openFeatures({} as HookFeatureDeps).filter(({ kinds }) => kinds.includes('compaction'))
  assert.ok(!asked.some(({ name }) => name === 'stop-gates'), 'compaction is never held')
})

test('an agent of Copilot CLI, which tells a hook no words, is held by those in its record, and its subagent is not', async t => {
  const world = openWorld(t)
  const transcript = join(world.home, 'events.jsonl')
  const say = (...words: object[]) => {
    const lines = words.map(data => JSON.stringify({ type: 'assistant.message', data }))
    writeFileSync(transcript, [...lines, '{"type":"hook.start","data":{}}', ''].join('\n'))
  }
  const copilot = { vendor: 'copilot', native: 'agentStop', text: '', transcript } as const
  say({ content: 'TASK COMPLETE' }, { content: 'Shall I go on?' })
  assert.equal((await ask(world, copilot)).decision, 'none')
  say({ content: 'Shall I go on?' }, { content: 'TASK COMPLETE', parentToolCallId: 'c-1' })
  assert.equal((await ask(world, copilot)).decision, 'none', 'those were the words of a subagent')
  say({ content: 'Shall I go on?' }, { content: 'TASK COMPLETE' })
  assert.equal((await ask(world, { ...copilot, agent_type: 'explore' })).decision, 'none')
  assert.equal((await ask(world, copilot)).decision, 'continue')
})

test('hooks.gates = "off" runs none of them, and a profile runs its own', async t => {
  const world = openWorld(t)
  world.configure(`${OPEN}[hooks]\ngates = "off"\n`)
  assert.equal((await ask(world)).decision, 'none')
  const lint = OPEN.replace('[gates]\n', '[gates]\nlint = "false"\n').replace('; test -e ok', '')
  world.configure(`${lint}[hooks]\ngates = "quick"\n`)
  assert.equal((await ask(world)).decision, 'none')
  world.configure(`${lint}[hooks]\ngates = "standard"\n`)
  assert.match((await ask(world)).reason ?? '', /lint \(false\) failed/)
})

test('hooks.stop_blocks ends it, however often the files change, until the gates have passed', async t => {
  const world = openWorld(t, '[hooks]\nstop_blocks = 2\n')
  const stops = async (...names: string[]) => {
    const said: string[] = []
    for (const name of names) {
      world.write(name, name)
      const { decision, notice, reason } = await ask(world)
      said.push(`${decision} ${notice ?? /time \d of at most \d/.exec(reason ?? '')?.[0] ?? ''}`)
    }
    return said
  }
  const stopped = 'none pcc: the agent stops although test (echo run >> ../ran-$(basename $PWD); test -e ok) failed'
  const [first, second, third, fourth] = await stops('a', 'b', 'c', 'd')
  assert.deepEqual([first, second], ['continue time 1 of at most 2', 'continue time 2 of at most 2'])
  for (const said of [third, fourth]) assert.ok(said?.startsWith(stopped), said)
  assert.equal((await ask(world, { session: 'c-2' })).decision, 'continue', 'another conversation has its own')
  assert.deepEqual(await stops('ok'), ['none '])
  rmSync(join(world.project, 'ok'))
  assert.deepEqual(await stops('e'), ['continue time 1 of at most 2'], 'a gate that passed begins anew')
  const none = openWorld(t, '[hooks]\nstop_blocks = 0\n')
  assert.deepEqual(await ask(none), { schema_version: 1, decision: 'none' })
  assert.equal(runs(none), 0)
})

test('an agent that a gate started is not held by gates, and a variable alone proves nothing', async t => {
  const world = openWorld(t)
  commandMarkers(world.paths.run).note('mark-of-a-gate')
  const stop = (env: Record<string, string>, ppid = 0) => {
    const context = world.context()
    const caller = { ...context.caller, ppid }
    const inside = { ...context, caller, env: { ...context.env, ...env } }
    return answerBy(holdStops({}), world.event('stop', CLAIM), inside)
  }
  const inside = spawn('sleep', ['60'], { env: { PCC_SESSION_MARK: 'mark-of-a-gate' }, stdio: 'ignore' })
  t.after(() => inside.kill('SIGKILL'))
  assert.equal((await stop({ PCC_SESSION_MARK: 'mark-of-a-gate' })).decision, 'none')
  assert.equal((await stop({}, inside.pid)).decision, 'none', 'a hook whose environment was emptied')
  assert.equal(runs(world), 0)
  assert.equal((await stop({ PCC_SESSION_MARK: 'made up' })).decision, 'continue')
})

test('gates of a project that nobody agreed to have no effect, and the person is told once', async t => {
  const world = openHookWorld(t, { settings: '[agents]\nsandbox = "off"\nisolation = "marker"\n' })
  world.write('.perpetualcc.toml', '[gates]\ntest = "false"\n')
  const first = await ask(world)
  assert.equal(first.decision, 'none')
  assert.match(first.notice ?? '', /do not run until you agree to them: gates.test.*pcc trust/)
  assert.deepEqual(await ask(world), { schema_version: 1, decision: 'none' })
  await grantTrust(world.paths, await trustStatus(world.paths, world.project))
  assert.equal((await ask(world)).decision, 'continue')
})

test('a subagent waits only for the cheap gates', async t => {
  const world = openWorld(t)
  assert.equal((await ask(world, { agent_id: 'a-1' })).decision, 'none')
  assert.equal(runs(world), 0)
  world.configure(OPEN.replace('[gates]\n', '[gates]\ntypecheck = "false"\n'))
  const held = await ask(world, { agent_id: 'a-1' })
  assert.match(held.reason ?? '', /typecheck \(false\) failed/)
  assert.equal(runs(world), 0)
})

test('when its time is over the agent stops, and the person is told that nothing was shown', async t => {
  const world = openHookWorld(t, {
    settings: '[gates]\ntest = "sleep 600"\n[agents]\nsandbox = "off"\nisolation = "marker"\n',
  })
  const event = world.event('stop', CLAIM)
  const began = performance.now()
  const context = world.context({ signal: AbortSignal.timeout(1_000) })
  const answer = await answerBy(holdStops({}), event, context)
  assert.equal(answer.decision, 'none')
  assert.match(answer.notice ?? '', /did not end in time/)
  assert.ok(performance.now() - began < 20_000)
})

test('open steps and the criteria of a task that the person named hold it too, and a judge is asked where there is one', async t => {
  const world = openWorld(t)
  world.write('ok', '')
  const hold = holdStops({})
  const tell = (event: Parameters<typeof hold>[0]) => hold(event, world.context())
  const call = (tool: string, input: object, output = '') => {
    return tell(world.event('tool_after', { tool, input, output, ok: true } as never))
  }
  const task = {
    id: 't-aaaaaa',
    title: 'Shop',
    description: '',
    acceptance: '- the tests pass\n- it opens',
    attempt: 1,
  }
  await call('TodoWrite', {
    todos: [
      { content: 'Build', status: 'completed' },
      { content: 'Write', status: 'pending' },
    ],
  })
  assert.match((await ask(world)).reason ?? '', /plan failed.*Write/s)
  await call('TodoWrite', { todos: [{ content: 'Write', status: 'completed' }] })
  await call('TaskCreate', { subject: 'Ship' }, '{"task":{"id":"7","subject":"Ship"}}')
  world.write('more', '')
  assert.match((await ask(world)).reason ?? '', /plan failed.*Ship/s)
  await call('TaskUpdate', { taskId: '7', status: 'completed' })
  await tell(world.event('prompt', { text: 'Please do t-aaaaaa.' }))
  world.write('more', 'x')
  world.configure(`${OPEN.replace('[gates]\n', '[gates]\nverifier = "on"\n')}`)
  const opinion = { criterion: 'it opens', met: false, reason: 'the door is missing' }
  const seen: string[] = []
  const judged = await ask(
    world,
    {},
    {
      task: async id => (id === task.id ? task : undefined),
      judges: async () => ({
        judge: async ({ task: { acceptance } }) => {
          seen.push(...acceptance)
          return { status: 'failed', criteria: [opinion], remarks: '', model: null, cost_usd: 0 }
        },
      }),
    },
  )
  assert.deepEqual(seen, ['the tests pass', 'it opens'])
  assert.match(judged.reason ?? '', /the door is missing/)
})

test('a test that passed where the conversation began and fails now is reported as a regression', async t => {
  const test =
    "const { test } = require('node:test'); test('opens', () => { require('node:assert').ok(require('./shop.js')) })\n"
  const world = openHookWorld(t, {
    settings: `[gates]\ntest = "node --test"\n[hooks]\ngates = "standard"\n[agents]\nsandbox = "off"\nisolation = "marker"\n`,
    files: { 'shop.test.js': test, 'shop.js': 'module.exports = true\n', 'package.json': '{}\n' },
  })
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  const hold = holdStops({ results: store.gateResults })
  await answerBy(hold, world.event('session_start', { source: 'startup' }), world.context())
  world.write('shop.js', 'module.exports = false\n')
  commitAll(world.project, 'what the agent committed itself')
  const { decision, reason = '' } = await answerBy(hold, world.event('stop', CLAIM), world.context())
  assert.equal(decision, 'continue')
  assert.match(reason, /This test passed before the work and fails now: .*opens/)
})

test('the counter never sends back twice for the same tree, nor one gate more often than the cap, whatever the order', async t => {
  const world = openHookWorld(t)
  let session = 0
  const step = fc.record({
    trees: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 2 }),
    gate: fc.constantFrom('test', 'lint'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.nat(4), fc.boolean(), async (steps, most, atOnce) => {
      const key = { vendor: 'claude' as const, session: `p-${session++}` }
      const count = ({ trees, gate }: (typeof steps)[number]) =>
        countBlock(world.paths, key, { gates: [gate], trees, most }).then(number =>
          number === undefined ? [] : [{ trees, gate, number }],
        )
      const granted: { trees: string[]; gate: string; number: number }[] = []
      if (atOnce) granted.push(...(await Promise.all(steps.map(count))).flat())
      else for (const each of steps) granted.push(...(await count(each)))
      for (const own of Map.groupBy(granted, ({ gate }) => gate).values())
        assert.deepEqual(
          own.map(({ number }) => number).sort(),
          own.map((_, at) => at + 1).filter(number => number <= most),
        )
      const all = granted.flatMap(({ trees }) => [...new Set(trees)])
      assert.equal(new Set(all).size, all.length, 'a tree was held twice')
      if (most > 0 && steps.length > 0) assert.ok(granted.length > 0, 'the first stop is held')
    }),
    { numRuns: 60 },
  )
})

test('an agent is not held where nobody can count how often it was', async t => {
  const world = openWorld(t)
  mkdirSync(world.paths.data, { recursive: true })
  writeFileSync(join(world.paths.data, 'hook-sessions'), 'a file where the folder should be')
  assert.equal((await ask(world)).decision, 'none')
})

test('notes about a conversation that are damaged count as none, and its id is no path', async t => {
  const world = openHookWorld(t)
  const key = { vendor: 'claude' as const, session: '../../x' }
  const request = { gates: ['test'], trees: ['a'], most: 1 }
  assert.equal(await countBlock(world.paths, key, request), 1)
  assert.equal(await countBlock(world.paths, key, { ...request, trees: ['b'] }), undefined)
  const folder = join(world.paths.data, 'hook-sessions')
  const [file = '', ...others] = readdirSync(folder).filter(name => name.endsWith('.json'))
  assert.deepEqual(others, [])
  writeFileSync(join(folder, file), '{"schema_version":1,"blocks":"many"}')
  assert.equal(await countBlock(world.paths, key, request), 1)
})
