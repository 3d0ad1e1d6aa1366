import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EscalationView } from '../../../../src/domain/escalation.ts'
import type { RunDetail } from '../../../../src/domain/run.ts'
import { openSimulator, type Simulator } from '../../../../src/simulator/open.ts'
import { type Pcc, pccFor } from '../../../cli/pcc.ts'
import { plan } from '../../../e2e/run/plan.ts'
import { gitProject } from '../../../support/world.ts'
import { program } from '../../programs/programs.ts'

const FIVE = [1, 2, 3, 4, 5]

/** One task, five after it, five more after those, one after all. */
const DIAMOND: [string, ...string[]][] = [
  ['survey the plot'],
  ...FIVE.map((at): [string, string] => [`raise wall ${at}`, 'survey the plot']),
  ...FIVE.map((at): [string, string] => [`fit window ${at}`, `raise wall ${at}`]),
  ['open the house', ...FIVE.map(at => `fit window ${at}`)],
]

const LIMIT = { fault: { kind: 'limit', window: 'five_hour', resets: '+5s', times: 1 } }

const COLOUR = { question: 'Which colour?', options: ['red', 'blue'] }

/** Asks with our own tool; the answer comes with the next prompt or, if the agent started anew, with its brief. */
const ASKING = [
  { match: of('raise wall 2', '[\\s\\S]*blue'), turns: makes('raise wall 2') },
  {
    match: of('raise wall 2'),
    turns: [{ tools: [{ mcp__pcc__ask_human: COLOUR }] }],
    later: [{ match: { contains: 'blue' }, turns: makes('raise wall 2') }],
  },
]

/** Each task creates a file; one asks if its agent can, one meets a limit of its vendor, one fails twice. Briefs name other tasks too. */
const scenarioFor = ({ asks }: Worker) =>
  JSON.stringify({
    tools: {
      Write: {
        gemini: 'write_file',
        responses: {
          name: 'apply_patch',
          input: { input: '*** Begin Patch\n*** Add File: {{input.file_path}}\n+{{input.content}}\n*** End Patch\n' },
        },
      },
    },
    conversations: [
      ...(asks ? ASKING : []),
      { match: of('fit window 3', '[\\s\\S]*It failed 2 times'), turns: makes('fit window 3') },
      { match: of('fit window 3'), turns: [{ fault: 'refusal' }], otherwise: { fault: 'refusal' } },
      ...DIAMOND.map(([title]) => ({
        match: of(title),
        turns: makes(title, title === 'raise wall 4' ? LIMIT : {}),
      })),
    ],
  })

/** The prompt of a task: its brief, its own text if it is resumed before it began, or its restoration. */
function of(title: string, more = ''): { regex: string } {
  return {
    regex: `^(${title}$|${title}\\n|CONTEXT RESTORATION:[\\s\\S]*${title}\\s|[\\s\\S]*Your task: \\S+\\s+${title}\\s)${more}`,
  }
}

function makes(title: string, first: object = {}): object[] {
  const file = `${title.replaceAll(' ', '-')}.txt`
  return [{ ...first, tools: [{ Write: { file_path: file, content: 'made' } }] }, { text: 'Made.' }]
}

export interface Worker {
  /** The name for `--agent`. */
  agent: string
  model?: string
  /** Its program in `test/agents/node_modules/.bin`. */
  program: string
  /** Whether it has our tools: then one task asks a person. */
  asks?: true
  /** A variable of its own that `agents.env` must name. */
  travels?: string
  /** The whole environment of the agent that talks to the simulator and to nothing else. */
  env(home: string, url: string): Record<string, string>
}

/** The twelve tasks of a run through a real daemon, each in a worktree, verified and merged, with this agent in place of Claude. */
export function twelveTasks(name: string, worker: Worker): void {
  const way = worker.asks ? 'a question, a limit' : 'a limit'
  test(`twelve tasks are done, verified and merged by ${name}, with ${way} and two failures on the way`, async t => {
    await using simulator = await openSimulator({ text: scenarioFor(worker) })
    const pcc = pccFor(t)
    const env = worker.env(pcc.home, simulator.url)
    const PATH = `${dirname(program(worker.program))}:${env['PATH'] ?? ''}`
    Object.assign(pcc.env, {
      ...env,
      ...pcc.env,
      PATH,
      PCC_GATES_TEST: 'ls *.txt',
      PCC_AGENTS_UNATTENDED: worker.agent,
      ...(worker.travels !== undefined && { PCC_AGENTS_ENV: worker.travels }),
    })
    const project = gitProject(t)
    await plan(pcc, project, DIAMOND)
    const model = worker.model === undefined ? [] : ['--model', worker.model]
    const running = pcc.run(['run', project, '--agent', worker.agent, ...model, '--parallel', '2', '--json'])
    const said = worker.asks && (await answered(pcc, running, simulator))
    const ran = await running
    if (worker.asks) assert.deepEqual(said, { asked: COLOUR.question, code: 0 })
    const { id } = JSON.parse((await pcc.run(['runs', '--json'])).stdout).runs[0]
    const detail: RunDetail = JSON.parse((await pcc.run(['status', id, '--json'])).stdout)
    const failed = detail.attempts.filter(({ outcome }) => outcome !== 'done')
    assert.deepEqual(
      failed.map(({ title }) => title),
      ['fit window 3', 'fit window 3'],
      failed.map(({ title, outcome, reason }) => `${title}: ${outcome}, ${reason}`).join('\n'),
    )
    assert.deepEqual([detail.outcome, detail.tasks], ['complete', { done: 12 }], ran.stdout + ran.stderr)
    assert.equal(ran.code, 0)
    assert.deepEqual(
      detail.attempts.map(({ agent }) => agent),
      detail.attempts.map(() => worker.agent),
    )
    assert.deepEqual([detail.unverified, detail.merged], [0, 12])
    const files = execFileSync('git', ['ls-files', '*.txt'], { cwd: project, encoding: 'utf8' }).split('\n')
    assert.equal(files.filter(Boolean).length, 12)
    assert.deepEqual(
      simulator.requests.filter(({ unexpected }) => unexpected?.length),
      [],
    )
  })
}

/** Answers the only question of the run when the model has asked it; undefined if the run ends without one. */
async function answered(pcc: Pcc, running: Promise<unknown>, simulator: Simulator) {
  const over = new AbortController()
  void running.finally(() => over.abort())
  const asker = new RegExp(of('raise wall 2').regex)
  // Each read of the list starts a process: the first happens when there may be something on it.
  await simulator.waitForRequest(({ first_prompt }) => asker.test(first_prompt), over.signal).catch(() => undefined)
  while (!over.signal.aborted) {
    const { stdout } = await pcc.run(['pending', '--json'])
    const { escalations } = JSON.parse(stdout || '{"escalations":[]}') as { escalations: EscalationView[] }
    const [row] = escalations
    if (row)
      return {
        asked: row.target,
        code: (await pcc.run(['respond', String(row.number), 'blue'])).code,
      }
    await sleep(500)
  }
  return undefined
}
