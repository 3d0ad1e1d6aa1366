import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AGENT_DEFINITIONS, AGENT_KINDS, AGENTS } from '../../src/domain/agents/agent-registry.ts'
import type { AgentDefinition } from '../../src/domain/agents/definition.ts'
import { ROOT, readTree } from './source-tree.ts'

/** Where an agent may be named: its definition, the registry, its driver, and what is called the same for another reason. */
const MAY_NAME_AGENTS: [path: string, reason: string][] = [
  ['src/domain/agents/', 'the definitions and the registry'],
  ['src/agents/codex/', 'a driver of one agent'],
  ['src/agents/open.ts', 'it imports the drivers'],
  ['src/agents/hooks/', 'one translator for each vendor of hooks'],
  ['src/domain/hooks.ts', 'the vendors of hooks'],
  ['src/domain/config/sections/hooks.ts', 'the vendors of hooks'],
  ['src/cli/commands/hook.ts', 'the vendors of hooks'],
  ['src/cli/commands/hooks/', 'the settings files of the vendors of hooks'],
  ['src/cli/examples.ts', 'a flag of pcc hooks'],
  ['src/simulator/', "it plays the vendors' APIs"],
  ['src/policy/paths/secret-files.ts', 'a folder of another program'],
  ['src/brain/', 'Gemini is a model there'],
  ['src/domain/config/sections/agents.ts', 'examples in the descriptions of settings'],
  ['src/domain/config/sections/brain.ts', 'Gemini is a model there'],
  ['src/domain/config/sections/knowledge.ts', 'Gemini is a model there'],
  ['src/domain/option-values.ts', 'Gemini is a model there'],
  ['src/cli/commands/config-brain.ts', 'Gemini is a model there'],
]

test('no file of the source names an agent, except its definition, the registry and its driver', () => {
  const names = AGENT_DEFINITIONS.flatMap(({ kind, start }) => (kind === 'claude' ? [] : [kind, start.command]))
  const named = new RegExp(`(?<![a-z])(${names.join('|')})`, 'i')
  const naming = readTree(ROOT, ['src']).filter(({ text }) => named.test(text))
  const isAllowed = (path: string) => MAY_NAME_AGENTS.some(([prefix]) => path.startsWith(prefix))
  assert.deepEqual(
    naming.flatMap(({ path, text }) => (isAllowed(path) ? [] : [`${path} names ${named.exec(text)?.[0]}`])),
    [],
    'make it follow from src/domain/agents/agent-registry.ts',
  )
  const needless = MAY_NAME_AGENTS.filter(([prefix]) => !naming.some(({ path }) => path.startsWith(prefix)))
  assert.deepEqual(needless, [], 'every exception is needed')
})

test('every definition is registered under its own kind and has a file of that name, and one that was verified has a test adapter', () => {
  for (const kind of AGENT_KINDS) {
    assert.equal(AGENTS[kind].kind, kind)
    assert.ok(
      existsSync(join(ROOT, `src/domain/agents/${kind}.ts`)),
      `its definition belongs in src/domain/agents/${kind}.ts`,
    )
    if (AGENTS[kind].verified.length === 0) {
      assert.equal(AGENTS[kind].hold, 'observed', `nobody has verified ${kind}, so its hold is 'observed'`)
      continue
    }
    const adapter = `test/agents/${kind === 'claude' ? 'claude-adapter.ts' : `adapters/${kind}.ts`}`
    assert.ok(
      existsSync(join(ROOT, adapter)),
      `${kind} says that it was verified: its conformance tests need ${adapter}`,
    )
  }
})

test('no two agents have the same program, and every settings folder is a hidden one', () => {
  const programs = AGENT_DEFINITIONS.map(({ start }) => start.command)
  assert.deepEqual(programs, [...new Set(programs)])
  for (const { settingsFolder } of AGENT_DEFINITIONS) assert.match(settingsFolder, /^\.[a-z-]+$/)
})

test('no agent writes in conversations of other projects', () => {
  for (const { kind, sandbox } of AGENT_DEFINITIONS)
    for (const each of sandbox?.folder?.writable ?? []) assert.match(each, /\{project\}/, kind)
})

test('no program of an agent is judged as something else: its rule would get lost', () => {
  const names = new Set(AGENT_DEFINITIONS.map(({ start }) => start.command))
  const rules = readTree(ROOT, ['src/policy/programs']).filter(({ path }) => !path.endsWith('project-tools.ts'))
  const named = (text: string) => [...text.matchAll(/named\(\s*'([^']*)'/g)].flatMap(([, list = '']) => list.split(' '))
  const taken = rules.flatMap(({ path, text }) =>
    named(text).flatMap(name => (names.has(name) ? `${path}: ${name}` : [])),
  )
  assert.deepEqual(taken, [])
})

test('the table of docs/agents.md says what the registry says', () => {
  const page = readFileSync(join(ROOT, 'docs/agents.md'), 'utf8')
  const rows = page.split('\n').filter(line => /^\| `[a-z-]+`( —[^|]*)? \|/.test(line))
  const message = 'write the rows of the first table of docs/agents.md as the definitions say'
  assert.deepEqual(rows.slice(0, AGENT_KINDS.length), AGENT_DEFINITIONS.map(tableRow), message)
})

test('docs/sandbox.md says of every agent what it may write in a sandbox', () => {
  const page = readFileSync(join(ROOT, 'docs/sandbox.md'), 'utf8')
  for (const { name, sandbox, kind } of AGENT_DEFINITIONS)
    if (sandbox && kind !== 'claude-acp')
      assert.match(page, new RegExp(`^\\| ${name} (\\(.*\\) )?\\| `, 'm'), `docs/sandbox.md has no row for ${name}`)
})

const HELD = { 'every-call': 'every call', writes: 'writes', observed: 'observed' }

function tableRow({ kind, name, speaks, start, hold, verified }: AgentDefinition): string {
  const command = `\`${[start.command, ...start.args.slice(0, 1)].join(' ')}\``
  const spokenTo = { sdk: "the vendor's library", acp: `ACP (${command})`, 'app-server': command }[speaks]
  return `| \`${kind}\`${name === kind ? '' : ` — ${name}`} | ${spokenTo} | ${HELD[hold]} | ${verified.join(', ')} |`
}
