import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Pcc } from '../../cli/pcc.ts'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

/** The last word of each phase takes a while: meanwhile there is something to kill. */
const SCENARIO = `
conversations:
  - match: You interview a person
    turns:
      - when: { not: { history_contains: the landlord } }
        tools: [{ mcp__pcc__ask_human: { question: Who is it for? } }]
      - when: { not: { history_contains: the landlord } }
        tools: [{ mcp__pcc__ask_human: { question: Who is it for? } }]
      - when: { not: { history_contains: the landlord } }
        tools: [{ mcp__pcc__ask_human: { question: Who is it for? } }]
      - when: { not: { history_contains: the landlord } }
        tools: [{ mcp__pcc__ask_human: { question: Who is it for? } }]
    otherwise: { text: "<spec>\\n# Paint\\nThe walls are blue.\\n</spec>" }
  - match: You plan how a feature
    turns:
      - latency: 3000
        text: "<plan>\\n# How\\n- [ ] Buy paint\\n</plan>"
    otherwise: { text: "<plan>\\n# How\\n- [ ] Buy paint\\n</plan>" }
  - match: You turn the plan
    turns:
      - tools:
          - mcp__pcc__add_task: { title: Buy paint }
          - mcp__pcc__add_task: { title: Paint, after: [Buy paint] }
      - latency: 3000
        text: There are 2.
    otherwise: { text: There are 2. }
`

test('the daemon is killed in each phase, and each goes on to what it would have come to', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const asked = (phase: string, results: number) =>
    simulator.waitForRequest(
      ({ first_prompt, tool_results }) => first_prompt.includes(phase) && tool_results.length === results,
      AbortSignal.timeout(60_000),
    )
  const args = ['feature', 'create', 'paint', '--project', project, '--yes']
  const terminal = onTerminal(t, pcc, args)
  await terminal.see(/Who is it for\?/)
  await terminal.see(/\[Enter\] Send/)
  await kill(pcc)
  terminal.type('\x03')
  await terminal.exit
  const again = onTerminal(t, pcc, args)
  await again.see(/Who is it for\?/)
  await again.see(/\[Enter\] Send/)
  again.type('the landlord\r')
  await asked('You plan how a feature', 0)
  await kill(pcc)
  await asked('You turn the plan', 2)
  await kill(pcc)
  const shown = await ready(pcc, project)
  assert.deepEqual(
    shown.task_list.map(({ title, after }) => [title, after.length]),
    [
      ['Buy paint', 0],
      ['Paint', 1],
    ],
    'each once, whatever was added before',
  )
  assert.equal(existsSync(join(project, '.perpetualcc/features/paint/spec.md')), true)
})

const LATE = `
conversations:
  - match: You write the spec
    turns:
      - latency: 3000
        text: "<spec>\\n# Paint\\nThe walls are blue.\\n</spec>"
    otherwise: { text: "<spec>\\n# Paint\\nThe walls are blue.\\n</spec>" }
`

test('killed while a spec is written from a file, it is written all the same, and told to who waits for it', async t => {
  const { pcc, project, simulator } = await agentWorld(t, LATE)
  const idea = join(project, 'idea.md')
  writeFileSync(idea, 'Blue walls.\n')
  const child = pcc.spawn(['feature', 'create', 'paint', '--from', idea, '--until', 'spec', '--json'], { cwd: project })
  const said = child.stdout ? text(child.stdout) : ''
  await simulator.waitForRequest(() => true, AbortSignal.timeout(60_000))
  await kill(pcc)
  const { phase, session, problem, spec } = JSON.parse(await said)
  assert.deepEqual([phase, session, problem], ['plan', null, null])
  assert.equal(readFileSync(spec.path, 'utf8'), '# Paint\nThe walls are blue.\n')
  assert.equal(child.exitCode ?? (await once(child, 'exit'))[0], 0)
})

async function kill(pcc: Pcc): Promise<void> {
  const { pid } = JSON.parse((await pcc.run(['daemon', 'status', '--json'])).stdout) as { pid: number }
  process.kill(pid, 'SIGKILL')
}

interface Shown {
  phase: string
  problem: string | null
  task_list: { title: string; after: string[] }[]
}

/** Asks until the feature has its tasks: the daemon goes on by itself, and nobody watches it. */
async function ready(pcc: Pcc, project: string): Promise<Shown> {
  for (let tries = 0; tries < 60; tries++) {
    const { stdout } = await pcc.run(['feature', 'show', 'paint', '--project', project, '--json'])
    const shown = JSON.parse(stdout) as Shown
    if (shown.phase === 'ready') return shown
    assert.equal(shown.problem, null)
  }
  throw new Error('it never became ready')
}

test('a plan without tasks is told apart, with what to write; a check-list is enough without any agent', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const plan = join(project, 'plan.md')
  writeFileSync(plan, '# Plan\n\nWe paint.\n')
  const create = (...more: string[]) => pcc.run(['feature', 'create', 'paint', '--no-ai', ...more], { cwd: project })
  const without = await create('--from', plan)
  assert.equal(without.code, 3)
  assert.match(without.stderr, /has no plan with tasks: .*plan\.md names none\.\n.*"- \[ \] Add the switch/)
  writeFileSync(join(project, '.perpetualcc/features/paint/plan.md'), '- [ ] Buy paint\n- [ ] Paint\n')
  const made = await create()
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /is ready: 2 tasks\./)
  mkdirSync(join(project, '.perpetualcc/features/mine'))
  writeFileSync(join(project, '.perpetualcc/features/mine/spec.md'), '# Mine\n')
  const mine = await pcc.run(['feature', 'create', 'mine', '--until', 'spec'], { cwd: project })
  assert.match(mine.stdout, /^Feature mine: ○ next: the plan\n/, mine.stderr)
  await pcc.run(['feature', 'delete', 'mine', '--files', '--yes'], { cwd: project })
  assert.equal(simulator.requests.length, 0)
  const gone = await pcc.run(['feature', 'delete', 'paint', '--tasks', '--files', '--yes'], { cwd: project })
  assert.equal(gone.code, 0, gone.stderr)
  assert.equal(existsSync(join(project, '.perpetualcc/features/paint')), false)
  assert.match((await pcc.run(['feature', 'list'], { cwd: project })).stdout, /No features yet/)
})
