import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import type { RunDetail } from '../../../src/domain/run.ts'
import type { Pcc } from '../../cli/pcc.ts'
import { type AgentWorld, agentWorld } from '../agent-world.ts'
import { plan } from './plan.ts'
import { inTmux } from './tmux.ts'

const FIVE = [1, 2, 3, 4, 5]

/** A task that leaves a file of its own, then says that it is done. */
const writes = (file: string, text: string) => `
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/${file}", content: ${text} } }]
      - text: ${text}`

// A brief names other tasks too: what they came to, what was noted on the way.
const SCENARIO = `
conversations:
  - match: { regex: 'Your task: \\S+\\s+open the house' }
    turns: [{ text: The house is open. }]
  - match: { regex: 'Your task: \\S+\\s+fit window 3[\\s\\S]*It failed 2 times' }
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/window-3", content: Fitted at last. } }]
        expect: { prompt_contains: take a different approach }
      - text: Fitted at last.
  - match: { regex: 'Your task: \\S+\\s+fit window 3' }
    turns: [{ fault: refusal }]
    otherwise: { fault: refusal }
${FIVE.map(
  at => `
  - match: { regex: 'Your task: \\S+\\s+fit window ${at}' }${writes(`window-${at}`, 'Fitted.')}`,
).join('')}
  - match: { regex: 'Your task: \\S+\\s+raise wall 2' }
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which stone?, header: Stone, multiSelect: false, options: [{ label: lime, description: "" }, { label: sand, description: "" }] }]
      - tools: [{ Write: { file_path: "{{cwd}}/wall-2", content: "Raised: {{last_tool_result}}" } }]
      - text: Raised as told.
  - match: { regex: 'Your task: \\S+\\s+raise wall 4' }
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/wall-4", content: Raised. } }]
        fault: { kind: limit, window: five_hour, resets: +5s, times: 1 }
      - text: Raised.
    otherwise: { text: Raised. }
${[1, 3, 5]
  .map(
    at => `
  - match: { regex: 'Your task: \\S+\\s+raise wall ${at}' }${writes(`wall-${at}`, 'Raised.')}`,
  )
  .join('')}
  - match: { regex: 'Your task: \\S+\\s+survey the plot' }
    turns:
      - tools: [{ Bash: { command: cat gate } }]
      - text: Surveyed.
`

/** One task, five after it, five more after those, one after all. */
const DIAMOND: [string, ...string[]][] = [
  ['survey the plot'],
  ...FIVE.map((at): [string, string] => [`raise wall ${at}`, 'survey the plot']),
  ...FIVE.map((at): [string, string] => [`fit window ${at}`, `raise wall ${at}`]),
  ['open the house', ...FIVE.map(at => `fit window ${at}`)],
]

/** Answers with the command that a line of the run names. */
async function answer(pcc: Pcc, line: string): Promise<void> {
  const [, number = ''] = /pcc respond (\d+)/.exec(line) ?? []
  const { code, stderr } = await pcc.run(['respond', number, 'sand'])
  assert.equal(code, 0, stderr)
}

/** Follows a run as a script does, and answers what it asks; its exit code. */
async function follow(pcc: Pcc, run: string): Promise<number | null> {
  const attached = pcc.spawn(['attach', run])
  const over = once(attached, 'close')
  for await (const line of createInterface({ input: attached.stdout ?? process.stdin })) {
    if (line.includes('pcc respond')) await answer(pcc, line)
  }
  await over
  return attached.exitCode
}

async function detailOf(pcc: Pcc, run: string): Promise<RunDetail> {
  return JSON.parse((await pcc.run(['status', run, '--json'])).stdout)
}

function settledAsScripted({ outcome, attempts, tasks }: RunDetail): void {
  assert.deepEqual([outcome, tasks], ['complete', { done: 12 }])
  const trouble = attempts.filter(each => each.outcome !== 'done').map(each => [each.title, each.outcome])
  assert.deepEqual(trouble, [
    ['fit window 3', 'failed'],
    ['fit window 3', 'failed'],
  ])
  assert.equal(attempts.length, 14)
  const [first, last] = [attempts[0]?.title, attempts.at(-1)?.title]
  assert.deepEqual([first, last], ['survey the plot', 'open the house'])
}

/** The real agent with a world of its own, and the diamond before it. */
async function before(t: TestContext): Promise<AgentWorld> {
  const world = await agentWorld(t, SCENARIO, 'oauth')
  await plan(world.pcc, world.project, DIAMOND)
  return world
}

function asExpected({ requests }: AgentWorld['simulator']): void {
  assert.deepEqual(
    requests.filter(({ unexpected }) => unexpected?.length),
    [],
  )
}

test('twelve tasks with two failures, a question and a limit settle as scripted, on a board that is read from tmux', async t => {
  const { pcc, project, simulator } = await before(t)
  // Its first agent waits at a pipe that lies in the project itself.
  pcc.env['PCC_WORKTREES_MODE'] = 'off'
  execFileSync('mkfifo', [join(project, 'gate')])
  const pane = await inTmux(t, pcc, ['run', project])
  const atStart = await pane.shows(/▶ t-\w+ survey the plot[\s\S]*Bash cat gate/)
  const [, run = ''] = /Run (r-\w+): the whole project +● running\n░+ 12 left\n/.exec(atStart) ?? []
  assert.notEqual(run, '', atStart)
  writeFileSync(join(project, 'gate'), 'open')
  const limited = await pane.shows(/raise wall 4[^\n]*\n +waits for its limit until (\d{4}-\d\d-\d\d )?\d\d:\d\d/)
  assert.match(limited, /100% of the 5-hour window/)
  await answer(pcc, limited)
  const atEnd = await pane.shows(/exit code/)
  assert.match(
    atEnd,
    /✓ Run r-\w+ of the whole project: complete, every task is done, 12 of 12 unverified[\s\S]*?12 done \(unverified\); 14 attempts, /,
  )
  assert.match(atEnd, /exit code 0/)
  settledAsScripted(await detailOf(pcc, run))
  asExpected(simulator)
})

test('they settle in the same way where nobody watches, each in a worktree of its own, and all of it is merged', async t => {
  const { pcc, project, simulator } = await before(t)
  writeFileSync(join(project, 'gate'), 'open')
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, encoding: 'utf8' })
  git('add', 'gate')
  git('-c', 'user.name=Sample', '-c', 'user.email=sample@example.org', 'commit', '-qm', 'the gate is open')
  const { code, stdout, stderr } = await pcc.run(['run', project, '--detach', '--json'])
  assert.equal(code, 0, stderr)
  const { id } = JSON.parse(stdout) as RunDetail
  assert.equal(await follow(pcc, id), 0)
  const detail = await detailOf(pcc, id)
  settledAsScripted(detail)
  assert.deepEqual([detail.merged, detail.unmerged], [10, 0], 'two tasks left nothing to merge')
  const landed = git('ls-tree', '--name-only', 'HEAD')
    .split('\n')
    .filter(name => /^(wall|window)-/.test(name))
  assert.deepEqual(landed, [...FIVE.map(at => `wall-${at}`), ...FIVE.map(at => `window-${at}`)])
  assert.match(git('show', 'HEAD:wall-2'), /^Raised: .*sand/)
  assert.equal(git('show', 'HEAD:window-3'), 'Fitted at last.')
  asExpected(simulator)
})
