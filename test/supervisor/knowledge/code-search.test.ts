import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { AGENT_TOOL_NAMES, type AgentToolName } from '../../../src/domain/agent-tools.ts'
import type { PolicyRule } from '../../../src/policy/verdict/rules.ts'
import { openStore } from '../../../src/store/open.ts'
import { startCodeSearch } from '../../../src/supervisor/knowledge/code-search.ts'
import { brainContext } from '../../../src/supervisor/session/brain.ts'
import { callTool } from '../../../src/supervisor/session/tools.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

const FILES = {
  'src/orders.ts':
    "import { chargeCard } from './payment.ts'\n\n/** Stores an order after its payment. */\nexport function saveOrder(total: number): boolean {\n  return chargeCard(total)\n}\n",
  'src/payment.ts':
    '/** Charges a credit card through the gateway. */\nexport function chargeCard(cents: number): boolean {\n  return cents > 0\n}\n',
  'src/weather.ts': 'export const forecast = "rain"\n',
  '.env': 'GATEWAY_PASSWORD=chargeCard\n',
  'config/credentials.json': '{ "gateway": "chargeCard" }\n',
  'private/ledger.ts': "import { chargeCard } from '../src/payment.ts'\n\nexport const ledger = () => chargeCard(1)\n",
  '.perpetualcc/knowledge/cards.md':
    '---\ntitle: Cards expire at noon\ntags: [cards]\n---\nThe gateway refuses credit cards that expire today.\n',
}

/** The end of this file. */
const ending = { after: (end: () => unknown) => after(async () => void (await end())) }
const project = realpathSync(gitProject(ending, FILES))
const data = tempDir(ending)
const code = startCodeSearch({ data }, { patienceMs: 60_000 })
after(() => code[Symbol.dispose]())

test('a project is indexed in a process that gives way to others, and the best file comes first', async () => {
  const indexed = await code.update(project, { counted: true })
  assert.deepEqual([indexed?.files, indexed?.problems, indexed?.counts?.functions], [5, [], 3], 'without the secrets')
  assert.equal(getPriority(code.pid ?? 0), 5)
  const { results, stamp } = await code.search(project, { query: 'which function charges a card', neighbours: true })
  assert.equal(results[0]?.file_path, 'src/payment.ts')
  assert.deepEqual(results[0]?.neighbours?.used_by, ['private/ledger.ts', 'src/orders.ts'])
  const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: project, encoding: 'utf8' }).trim()
  assert.deepEqual(stamp, { commit: head, dirtyFiles: 0, isStale: false })
})

test('files with secrets are in no answer, though git tracks them', async () => {
  const { results } = await code.search(project, { query: 'gateway password chargeCard', top: 20, neighbours: true })
  const named = results.map(({ file_path }) => file_path)
  assert.ok(named.includes('src/payment.ts') && !named.some(path => /env|credentials/.test(path)), named.join())
  assert.equal((await code.fileContext(project, '.env')).answer, undefined)
  assert.equal((await code.related(project, { entity: 'config/credentials.json', depth: 1 })).answer, undefined)
})

test('worktrees share the index of their project, and a folder outside of git is not indexed by itself', async t => {
  const worktree = join(tempDir(t), 'tree')
  execFileSync('git', ['worktree', 'add', '-q', worktree], { cwd: project, env: bareEnv(project) })
  const [found] = (await code.search(worktree, { query: 'saveOrder', symbol: true })).results
  assert.equal(found?.file_path, 'src/orders.ts')
  assert.equal(await code.update(tempDir(t), { onlyInGit: true }), undefined)
  const databases = readdirSync(join(data, 'index')).filter(name => name.endsWith('.db'))
  assert.equal(databases.length, 1, databases.join())
})

test('an answer sees what was changed just before, and a process that dies is replaced', async () => {
  writeFileSync(join(project, 'src/refund.ts'), 'export function refundCustomer() {}\n')
  const found = () => code.search(project, { query: 'refundCustomer', freshMs: 20_000 })
  assert.equal((await found()).results[0]?.file_path, 'src/refund.ts')
  const first = code.pid
  const asked = code.search(project, { query: 'forecast' })
  process.kill(first ?? 0, 'SIGKILL')
  assert.equal((await asked).results[0]?.file_path, 'src/weather.ts')
  assert.notEqual(code.pid, first)
})

test('a project that is gone, and a search that nobody waits for, reject and harm nothing', async t => {
  await assert.rejects(code.search(join(tempDir(t), 'gone'), { query: 'x' }), { code: 'code_search_failed' })
  const asked = new AbortController()
  const search = code.search(project, { query: 'forecast' }, asked.signal)
  asked.abort()
  await assert.rejects(search, { name: 'AbortError' })
})

/** A session at work in the project, under these rules. */
async function session(t: { after(work: () => Promise<void>): void }, rules: PolicyRule[] = []) {
  const store = await openStore({ file: join(tempDir(ending), 'store.db') })
  t.after(() => store.close())
  const deps = sessionDepsOn(store, { code })
  const live = aLiveSession({ project, task_id: null })
  live.settings.searchesCode = true
  live.settings.policy = { ...live.settings.policy, project, rules: async () => rules }
  live.settings.open = { ...live.settings.open, ownTools: AGENT_TOOL_NAMES }
  const call = async (name: AgentToolName, input: object) => (await callTool(name, input, { live, deps })).text
  return { call, live, deps }
}

test('agents search the code and the graph, and see nothing of what a rule keeps from them', async t => {
  const open = await session(t)
  const answer = await open.call('search_code', { query: 'which function charges a card' })
  assert.match(
    answer,
    /^Index at commit \w{8}; 1 file differs from it\n\nsrc\/payment\.ts:1-4 {2}\(function chargeCard\)\n```\n/,
  )
  assert.match(await open.call('search_code', { query: 'ledger', path: 'private' }), /private\/ledger\.ts/)
  assert.match(await open.call('related', { entity: 'chargeCard' }), /saveOrder \(src\/orders\.ts:4\) calls chargeCard/)
  const context = await open.call('file_context', { path: './src/payment.ts' })
  assert.match(context, /Exports:\n {2}line 2: export function chargeCard/)
  assert.match(context, /Imported by:\n {2}private\/ledger\.ts\n {2}src\/orders\.ts\n/)
  assert.match(await open.call('file_context', { path: '.env' }), /^Nothing was found\. \(Index at commit/)

  const closed = await session(t, [{ effect: 'deny', tool: 'Read', match: './private/*' }])
  const all = await Promise.all([
    closed.call('search_code', { query: 'ledger chargeCard', top: 20 }),
    closed.call('related', { entity: 'src/payment.ts', depth: 2 }),
    closed.call('file_context', { path: 'src/payment.ts' }),
    closed.call('file_context', { path: 'private/ledger.ts' }),
  ])
  assert.match(all[0] ?? '', /src\/payment\.ts/)
  assert.doesNotMatch(all.join('\n'), /ledger\.ts/)
})

test('notes are ranked by the index, and those that it does not have are found by their words', async t => {
  const { call } = await session(t)
  assert.match(
    await call('search', { query: 'why is an expired card refused' }),
    /\n```\nNotes:\nCards expire at noon: /,
  )
  mkdirSync(join(project, '.git/info'), { recursive: true })
  writeFileSync(join(project, '.git/info/exclude'), 'hidden-note.md\n')
  writeFileSync(join(project, '.perpetualcc/knowledge/hidden-note.md'), '---\ntitle: Zebra\n---\nStripes.\n')
  assert.match(await call('search', { query: 'stripes' }), /\n```\nNotes:\nZebra: Stripes\.\n```$/)
})

test('a brain gets code for a question, and none for a permission', async t => {
  const { live, deps } = await session(t)
  const brain = { ...live.settings.brainSettings.brain, name: 'rules, a model' }
  live.settings.brainSettings = { ...live.settings.brainSettings, brain }
  await code.search(project, { query: 'warm' })
  const { code: shown } = await brainContext(live, deps, 'Which gateway charges credit cards in saveOrder?')
  assert.match(shown ?? '', /^src\/\w+\.ts:1-\d @\w{8}\n/)
  assert.equal((await brainContext(live, deps)).code, undefined)
})

test('tasks are compared by what they say, and a project without an index compares nothing', async t => {
  const about = (id: string, text: string) => ({ id, text, paths: [] })
  const task = about('t-1', 'Refuse a credit card without cents')
  const others = [about('t-2', 'Charge the credit card twice'), about('t-3', 'Show the forecast of rain')]
  const [same, other] = await code.overlap(project, { task, others })
  assert.ok(same && other && same.probability > other.probability)
  assert.deepEqual([same.id, same.path], ['t-2', 'src'])
  assert.deepEqual(await code.overlap(realpathSync(gitProject(t, FILES)), { task, others }), [])
})
