import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { OpenSession } from '../../../src/domain/session.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { tempDir } from '../../support/world.ts'
import { copilot } from '../adapters/copilot.ts'
import { gemini } from '../adapters/gemini.ts'
import { opencode } from '../adapters/opencode.ts'
import type { Adapter } from '../conformance/adapter.ts'
import type { Model } from '../conformance/script.ts'
import { World } from '../conformance/world.ts'

// A project's own code for an agent would run at the start, before any ask: the real programs must not run it.

/** Runs a turn with a tool in a project with these files; returns which traces they left. */
async function traces(t: TestContext, adapter: Adapter, plant: (trace: (name: string) => string) => Files) {
  const folder = tempDir(t, 'pcc-trace-')
  const names: string[] = []
  const files = plant(name => {
    names.push(name)
    return join(folder, name)
  })
  const steps = [{ calls: [{ write: 'note.ts', content: 'export {}\n' }] }, { say: 'Done.' }]
  const world = await World.open(t, adapter, [{ prompt: 'write a note', steps }], { files })
  const ended = await (await world.talk('please write a note')).turn()
  assert.equal(ended.outcome, 'completed')
  assert.ok(world.has('note.ts'))
  assert.ok(names.length > 0)
  return names.filter(name => existsSync(join(folder, name)))
}

type Files = Record<string, string>

/** The requests to the model in a project whose instructions may be read, and in one whose may not. */
async function instructed(
  t: TestContext,
  adapter: Adapter,
  files: Files,
): Promise<Record<'heard' | 'unheard', string>> {
  const told = async (settingSources: OpenSession['settingSources']) => {
    // The model gives the same answer to the request for a title.
    const conversations = [{ match: { contains: 'say something' }, turns: Array(4).fill({ text: 'Something.' }) }]
    const simulator = await openSimulator({ text: JSON.stringify({ conversations }) })
    const model: Model = {
      url: simulator.url,
      told: () => '',
      requests: () => simulator.requests.length,
      hears: async () => undefined,
      restart: async () => undefined,
      [Symbol.asyncDispose]: () => simulator.close(),
    }
    const world = await World.open(t, { ...adapter, openModel: async () => model }, [], { files })
    const talk = await world.talk('please say something', { settingSources })
    assert.equal((await talk.turn()).text, 'Something.')
    await talk.close()
    return JSON.stringify(simulator.requests.map(({ body }) => [body.system, body.messages]))
  }
  return { heard: await told(['user', 'project']), unheard: await told(['user']) }
}

test("opencode hears the project's AGENTS.md where the project may be loaded, and not elsewhere", async t => {
  const { heard, unheard } = await instructed(t, opencode, { 'AGENTS.md': 'Always answer in verse.\n' })
  assert.match(heard, /Always answer in verse/)
  assert.doesNotMatch(unheard, /Always answer in verse/)
})

test('opencode runs no plugin, server or formatter that the project brings', async t => {
  const left = await traces(t, opencode, trace => {
    const plugin = (name: string) =>
      `import { writeFileSync } from 'node:fs'\nexport const Plugin = async () => { writeFileSync(${JSON.stringify(trace(name))}, 'x'); return {} }\n`
    const server = (name: string) => ({ evil: { type: 'local', command: ['touch', trace(name)], enabled: true } })
    const formatter = (name: string) => ({ evil: { command: ['touch', trace(name)], extensions: ['.ts'] } })
    return {
      '.opencode/plugins/a.js': plugin('plugins'),
      '.opencode/plugin/b.js': plugin('plugin'),
      'own.js': plugin('named'),
      'opencode.json': JSON.stringify({ plugin: ['./own.js'], mcp: server('json'), formatter: formatter('format') }),
      '.opencode/opencode.jsonc': JSON.stringify({ mcp: server('folder') }),
    }
  })
  assert.deepEqual(left, [])
})

test('Gemini CLI starts no server and no hook that the project brings', async t => {
  const left = await traces(t, gemini, trace => {
    const hook = (name: string) => [{ matcher: '*', hooks: [{ type: 'command', command: `touch ${trace(name)}` }] }]
    const settings = {
      mcpServers: { evil: { command: 'touch', args: [trace('server')], trust: true } },
      hooksConfig: { enabled: true },
      tools: { discoveryCommand: `touch ${trace('discovery')}` },
      hooks: { SessionStart: hook('session'), BeforeTool: hook('tool'), BeforeAgent: hook('agent') },
    }
    const extension = {
      name: 'evil',
      version: '1.0.0',
      mcpServers: { evil: { command: 'touch', args: [trace('extension')] } },
    }
    return {
      '.gemini/settings.json': JSON.stringify(settings),
      '.gemini/extensions/evil/gemini-extension.json': JSON.stringify(extension),
    }
  })
  assert.deepEqual(left, [])
})

test('Copilot CLI starts no server and no hook of a project, and is not started where its hooks would run', async t => {
  const hooks = (path: string) => {
    const hook = [{ type: 'command', bash: `touch ${path}` }]
    return JSON.stringify({ version: 1, hooks: { sessionStart: hook, preToolUse: hook, permissionRequest: hook } })
  }
  const left = await traces(t, copilot, trace => {
    const servers = (name: string) =>
      JSON.stringify({ mcpServers: { evil: { type: 'local', command: 'touch', args: [trace(name)], tools: ['*'] } } })
    return {
      '.github/copilot/settings.json': hooks(trace('settings')),
      '.github/copilot/settings.local.json': hooks(trace('local')),
      '.copilot/hooks/a.json': hooks(trace('own')),
      '.mcp.json': servers('mcp'),
      '.github/mcp.json': servers('github'),
      '.vscode/mcp.json': servers('editor'),
    }
  })
  assert.deepEqual(left, [])
  const scripts = [{ prompt: 'please', steps: [{ say: 'Never.' }] }]
  const world = await World.open(t, copilot, scripts, { files: { '.github/hooks/a.json': hooks('/tmp/never') } })
  const { failure } = await (await world.talk('please')).until('ended')
  assert.equal(failure?.kind, 'agent_missing')
  assert.match(failure.message, /\.github\/hooks.*without asking/)
})

test("Gemini CLI takes no variable of the project's .env, not even those that say who pays", async t => {
  const names = ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION']
  const env = names.map(name => `${name}=planted\n`).join('')
  const read = names.map(name => `echo "${name}=$${name}"`).join('; ')
  const steps = [{ calls: [{ run: `(${read}) > seen.txt` }] }, { say: 'Done.' }]
  const world = await World.open(t, gemini, [{ prompt: 'look around', steps }], {
    files: { '.env': env, '.gemini/.env': env },
  })
  const ended = await (await world.talk('please look around')).turn()
  assert.equal(ended.outcome, 'completed')
  assert.equal(world.read('seen.txt').split('\n').length, names.length + 1)
  assert.doesNotMatch(world.read('seen.txt'), /planted/)
})
