import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { query } from '@anthropic-ai/claude-agent-sdk'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { grantTrust, settingSourcesFor, trustStatus } from '../../../src/policy/trust/trust.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { agentEnv, gitProject, tempDir } from '../../support/world.ts'

/** What the real Claude Code loaded of a project: which hooks ran, which MCP servers it knew, whether it read CLAUDE.md. */
interface Loaded {
  hooks: string[]
  servers: string[]
  memory: boolean
}

const SCENARIO = 'conversations:\n  - name: hello\n    match: say hello\n    turns:\n      - text: Hello.\n'

async function loadedBy(t: TestContext, files: Record<string, string>) {
  const home = tempDir(t, 'pcc-home-')
  const marks = tempDir(t, 'pcc-marks-')
  const filled = (text: string) => text.replaceAll('MARKS', marks)
  const project = gitProject(t, Object.fromEntries(Object.entries(files).map(([path, text]) => [path, filled(text)])))
  const user = join(home, '.claude/settings.json')
  mkdirSync(dirname(user), { recursive: true })
  writeFileSync(user, filled(hook('user')))
  const paths = appPathsFor({ env: { HOME: home } })

  const run = async (): Promise<Loaded> => {
    await using simulator = await openSimulator({ text: SCENARIO })
    const status = await trustStatus(paths, project)
    const { sources, strictMcp } = settingSourcesFor(status, ['user', 'project', 'local'])
    const servers: string[] = []
    const conversation = query({
      prompt: 'say hello',
      options: {
        cwd: project,
        env: agentEnv(home, simulator.url),
        permissionMode: 'default',
        settingSources: sources,
        strictMcpConfig: strictMcp,
      },
    })
    for await (const message of conversation) {
      if (message.type === 'system' && message.subtype === 'init')
        servers.push(...message.mcp_servers.map(each => each.name))
    }
    const hooks = ['user', 'project', 'local'].filter(name => existsSync(join(marks, name)))
    return { hooks, servers, memory: JSON.stringify(simulator.requests).includes('WORDS-OF-MEMORY') }
  }
  const untrusted = await run()
  await grantTrust(paths, await trustStatus(paths, project))
  return { untrusted, trusted: await run() }
}

function hook(name: string): string {
  const hooks = [{ hooks: [{ type: 'command', command: `touch MARKS/${name}` }] }]
  return JSON.stringify({ hooks: { UserPromptSubmit: hooks } })
}

const SERVERS = '{"mcpServers":{"db":{"command":"sh","args":["-c","touch MARKS/server; cat"]}}}'

test('the real Claude Code runs no hook and starts no server of a project before the yes, and all of them after it', async t => {
  const { untrusted, trusted } = await loadedBy(t, {
    'CLAUDE.md': 'WORDS-OF-MEMORY',
    '.claude/settings.json': hook('project'),
    '.claude/settings.local.json': hook('local'),
    '.mcp.json': SERVERS,
  })
  assert.deepEqual(untrusted, { hooks: ['user'], servers: [], memory: false })
  assert.deepEqual(trusted, { hooks: ['user', 'project', 'local'], servers: ['db'], memory: true })
})

test('where only .mcp.json waits, CLAUDE.md is read and no server is started', async t => {
  const { untrusted, trusted } = await loadedBy(t, { 'CLAUDE.md': 'WORDS-OF-MEMORY', '.mcp.json': SERVERS })
  assert.deepEqual(untrusted, { hooks: ['user'], servers: [], memory: true })
  assert.deepEqual(trusted, { hooks: ['user'], servers: ['db'], memory: true })
})
