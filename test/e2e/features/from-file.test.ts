import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { agentWorld } from '../agent-world.ts'
import { SCENARIO } from './scenario.ts'

test('a file becomes a spec, a plan and tasks; an edited line of the spec is what the planner reads; a run completes it', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const idea = join(project, 'idea.md')
  writeFileSync(idea, 'Please make the walls blue.\n')
  const home = join(project, '.perpetualcc', 'features', 'paint')
  const create = (...more: string[]) => pcc.run(['feature', 'create', 'paint', ...more], { cwd: project })

  const nobody = await create()
  assert.equal(nobody.code, 2)
  assert.match(nobody.stderr, /The interview about "paint" needs a terminal.*\n.*--from <file>/)

  const first = await create('--from', idea, '--until', 'spec')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /Feature paint: ○ next: the plan\nGo on with: pcc feature create paint\n/)
  const spec = join(home, 'spec.md')
  assert.equal(readFileSync(spec, 'utf8'), '# Paint\nThe walls are painted.\n')
  assert.equal(existsSync(join(home, 'plan.md')), false)
  const other = join(project, 'other.md')
  writeFileSync(other, 'Red walls.\n')
  const again = await create('--from', other)
  assert.equal(again.code, 2)
  assert.match(again.stderr, /has a spec already/)

  const line = '- No walls of the neighbours — "ever" <b>&amp;</b> `x`'
  writeFileSync(spec, `${readFileSync(spec, 'utf8')}${line}\n`)
  const rest = await create('--json')
  assert.equal(rest.code, 0, rest.stderr)
  const made = JSON.parse(rest.stdout)
  assert.deepEqual([made.phase, made.tasks, made.problem], ['ready', { ready: 1, blocked: 1 }, null])
  const planner = simulator.requests.find(({ first_prompt }) => first_prompt.includes('You plan how a feature'))
  assert.ok(planner)
  assert.ok(planner.first_prompt.includes(`\n${line}\n`), 'verbatim')
  assert.equal(
    planner.body.tools.some(name => /^(Write|Edit|Bash|NotebookEdit|Agent|Task|WebFetch)$/.test(name)),
    false,
    'it can read and nothing else',
  )
  assert.match(readFileSync(spec, 'utf8'), /No walls of the neighbours/, 'what a person wrote stays')

  const list = await pcc.run(['feature', 'list'], { cwd: project })
  assert.match(list.stdout, /^paint +✓ ready +2 left\n$/)
  const run = await pcc.run(['run', 'paint'], { cwd: project })
  assert.equal(run.code, 0, run.stdout + run.stderr)
  const shown = await pcc.run(['feature', 'show', 'paint', '--json'], { cwd: project })
  const { tasks, task_list } = JSON.parse(shown.stdout)
  assert.deepEqual(tasks, { done: 2 })
  assert.deepEqual(
    task_list.map(({ title, acceptance, after }: { title: string; acceptance: string[]; after: string[] }) => [
      title,
      acceptance,
      after.length,
    ]),
    [
      ['Buy paint', ['there is paint'], 0],
      ['Paint the walls', [], 1],
    ],
  )
  assert.deepEqual(
    simulator.requests.filter(({ unexpected }) => unexpected?.length),
    [],
  )
  assert.match((await create()).stderr, /The feature "paint" already exists, with its tasks/)
})

test('a feature that waits for a login goes on in all its phases when the same command is typed with one, and says so', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const idea = join(project, 'idea.md')
  writeFileSync(idea, 'Please make the walls blue.\n')
  const run = (args: string[], env = {}) => pcc.run(['feature', ...args], { cwd: project, env })
  const began = await run(['create', 'paint', '--from', idea, '--detach'], { ANTHROPIC_API_KEY: '' })
  assert.match(began.stdout, /^Feature paint: writing the spec \(s-\w+\)\n/)
  const session = /s-\w+/.exec(began.stdout)?.[0]
  const show = async () => JSON.parse((await run(['show', 'paint', '--json'])).stdout)
  while ((await show()).session?.status !== 'paused') await turn()
  assert.match(
    (await run(['show', 'paint'])).stdout,
    /paused\n +Claude Code is not logged in\.\n +Log in with: pcc agents/,
  )

  const again = await run(['create', 'paint', '--from', idea, '--detach'])
  assert.match(
    again.stdout,
    new RegExp(`^Feature paint was begun before and goes on: writing the spec \\(${session}\\)`),
  )
  while ((await show()).phase !== 'ready') assert.notEqual((await show()).session?.status, 'paused')
})
