import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import * as z from 'zod'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { Captured } from '../../../src/domain/hook-capture.ts'
import type { HookVendor } from '../../../src/domain/hooks.ts'
import { openAnswerMemory } from '../../../src/human/remembered-answers.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { openStore } from '../../../src/store/open.ts'
import { type Pcc, pccFor } from '../../cli/pcc.ts'
import { openPty } from '../../e2e/pty.ts'
import { commitAll, gitProject } from '../../support/world.ts'
import { until } from '../conformance/world.ts'

/** What an agent asks, and a person has answered before. */
export const QUESTION = {
  question: 'Which database should I use?',
  header: 'Database',
  options: [
    { label: 'SQLite', description: 'a file' },
    { label: 'Postgres', description: 'a server' },
  ],
}

/** How an agent is told an answer whose question a hook can only refuse. */
export const BY_REFUSAL = /The person has answered already[^"]*Which database should I use\? Postgres/

/** A person's home with a remembered answer, and a trusted project whose test fails. */
async function openByHand(t: TestContext): Promise<{ pcc: Pcc; project: string }> {
  const pcc = pccFor(t)
  const project = gitProject(t, {
    'package.json': '{"name":"x","scripts":{"test":"test -e fixed.txt"}}',
    '.perpetualcc.toml': 'version = 1\n[gates]\ntest = "npm test"\n',
  })
  mkdirSync(join(pcc.home, 'Documents'))
  assert.equal((await pcc.run(['trust', '--yes'], { cwd: project })).code, 0)
  commitAll(project, 'trusted')
  const file = appPathsFor({ env: pcc.env }).database
  mkdirSync(dirname(file), { recursive: true })
  const store = await openStore({ file })
  const questions = [{ ...QUESTION, multiSelect: false }]
  await openAnswerMemory(store).keep({ project, session: 's-1', questions, answer: ['Postgres'], by: 'human' })
  await store.close()
  return { pcc, project }
}

/** How a person starts an agent in a terminal. */
export interface AgentByHand {
  vendor: HookVendor
  /** The settings file that gets the hooks, in the home. */
  settings: string
  env(home: string, url: string): Record<string, string>
  /** What the person does in the agent after the hooks were installed. */
  agree?(place: { home: string; project: string; env: Record<string, string> }): Promise<void>
  command(prompt: string): string[]
  /** The agent's own tools: a shell command that it would ask about, and a question. */
  shell(command: string): Record<string, unknown>
  ask: Record<string, unknown>
  /** How the model is told the remembered answer. */
  answered: RegExp
  /**
   * The setting of gates by which the daemon has an agent that judges: it holds the agent when its tests pass, and without the daemon the
   * same files are held once.
   */
  judged?: 'verifier = "on"' | 'second_opinion = "codex"'
}

const JUDGED = '{"verdict":"fail","criteria":[],"remarks":"the door is missing"}'

/** Runs the agent twice in a terminal, without and with the daemon: in one conversation each thing that hooks must do. */
export async function isHeldByHooks(t: TestContext, agent: AgentByHand): Promise<void> {
  const { pcc, project } = await openByHand(t)
  const turns = [
    { tools: [agent.shell('rm -rf ~/Documents')] },
    { tools: [agent.shell('touch note.txt')] },
    { tools: [agent.ask] },
    { text: 'TASK COMPLETE. All tests pass.' },
  ]
  const mended = [...turns, { tools: [agent.shell('touch fixed.txt')] }, { text: 'TASK COMPLETE. Now they pass.' }]
  const conversations = [
    { match: 'Another agent says', turns: [{ text: JUDGED }], otherwise: { text: JUDGED } },
    { match: 'tidy without', turns, otherwise: { text: 'TASK COMPLETE. They really pass.' } },
    {
      match: 'tidy with',
      turns: agent.judged ? mended : turns,
      otherwise: { text: 'TASK COMPLETE. They really pass.' },
    },
  ]
  await using model = await openSimulator({ text: JSON.stringify({ conversations }) })
  const env = agent.env(pcc.home, model.url)
  const settings = join(pcc.home, agent.settings)
  const before = readIfThere(settings)
  await hooks(pcc, project, ['install', `--${agent.vendor}`, '--yes'])
  await agent.agree?.({ home: pcc.home, project, env })
  for (const daemon of ['without', 'with'] as const) {
    if (daemon === 'with' && agent.judged) await startJudging(pcc, env, agent.judged)
    else if (daemon === 'with') assert.equal((await pcc.run(['daemon', 'start'])).code, 0)
    const seen = model.requests.length
    const terminal = openPty(t, agent.command(`tidy ${daemon} it`), { cwd: project, env })
    // What a terminal shows is drawn in pieces; what the model is told is not. Gemini CLI also has it sum up the conversation before.
    const heard = (words: string) =>
      model.requests
        .slice(seen)
        .map(({ body }) => JSON.stringify(body.messages))
        .find(text => text.includes(words) && !text.includes('Summary (max'))
    const held = () => heard('You have called this task done') !== undefined
    const isOver = { without: () => countStops(pcc) === 2, with: () => heard('the door is missing') !== undefined }[
      daemon
    ]
    await until(() => held() && (!agent.judged || isOver?.() === true)).finally(() => terminal.close())
    const told = heard('You have called this task done') ?? ''
    assert.match(told, /Not allowed: rm deletes files/, daemon)
    assert.equal(existsSync(join(project, 'note.txt')), true, `the everyday call ran ${daemon} the daemon`)
    assert.match(told, agent.answered, daemon)
    assert.match(told, /You have called this task done.*npm test\) failed/, daemon)
    rmSync(join(project, 'note.txt'))
    if (agent.judged && daemon === 'without') assert.deepEqual(blocksOf(pcc), [1], 'the same files are held once')
  }
  assert.equal(existsSync(join(pcc.home, 'Documents')), true)
  const { stdout } = await pcc.run(['hooks', 'log', '--json', '--tail', '500'])
  assert.equal(stdout.match(/"verdict": ?"deny"/g)?.length, 2, 'what happened without the daemon is stored too')
  checkCosts(stdout)
  const report = await pcc.run(['report', '--since', '1h'])
  assert.match(report.stdout, /Started by you: 2 sessions with .* 2 refused, .* tokens in.*\$0\.\d+/, report.stderr)
  await hooks(pcc, project, ['uninstall', `--${agent.vendor}`, '--yes'])
  assert.equal(readIfThere(settings), before)
}

/** What each conversation cost is known; and if the vendor itself counted that of the first, our list prices come to the same. */
function checkCosts(log: string): void {
  const rows = log.split('\n').flatMap(line => (line === '' ? [] : [Logged.parse(JSON.parse(line))]))
  const [first, ...others] = [...Map.groupBy(rows, ({ subject }) => subject).values()].map(own => {
    const used = own.flatMap(({ body }) => (body.type === 'usage' ? [body] : []))
    const cost = used.reduce((sum, { cost_usd = Number.NaN }) => sum + cost_usd, 0)
    assert.ok(cost > 0, `the cost is ${cost} after ${JSON.stringify(used)}`)
    return {
      cost,
      counted: used.findLast(({ total_cost_usd }) => total_cost_usd !== undefined)?.total_cost_usd ?? cost,
    }
  })
  assert.ok(first && others.length === 1)
  assert.ok(
    Math.abs(first.counted - first.cost) < 1e-6,
    `${first.cost} by our prices, ${first.counted} by the vendor's`,
  )
}

const Logged = z.object({ subject: z.string(), body: Captured })

/** The person has an agent judge the work of others, and a daemon whose own environment has the key for it. */
async function startJudging(pcc: Pcc, env: Record<string, string>, gates: string): Promise<void> {
  const { configFile } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(configFile), { recursive: true })
  writeFileSync(configFile, `[gates]\n${gates}\n[agents]\nsandbox = "off"\n`)
  const { stdout } = pcc.spawn(['daemon', 'run'], { env })
  assert.match(String((await once(stdout ?? assert.fail(), 'data'))[0]), /"ready":true/)
}

/** How often an agent wanted to stop while no daemon was there. */
function countStops({ env }: Pcc): number {
  const outbox = join(appPathsFor({ env }).data, 'hook-outbox/current.jsonl')
  return readIfThere(outbox)?.match(/"event":"Stop"/g)?.length ?? 0
}

/** How often each conversation was sent back. */
function blocksOf({ env }: Pcc): number[] {
  const folder = join(appPathsFor({ env }).data, 'hook-sessions')
  const files = readdirSync(folder).filter(name => name.endsWith('.json'))
  return files.map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')).blocks.length)
}

async function hooks(pcc: Pcc, cwd: string, args: string[]): Promise<void> {
  const { code, stderr } = await pcc.run(['hooks', ...args], { cwd })
  assert.equal(code, 0, stderr)
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
