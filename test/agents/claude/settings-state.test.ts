import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { settingsState } from '../../../src/agents/claude/settings-state.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'
import { asking, DENY } from '../conformance/world.ts'

function settings(t: TestContext) {
  const [home, cwd] = [tempDir(t), tempDir(t)]
  const open: OpenSession = {
    ...{ id: 's-000001', cwd, env: { HOME: home }, isolation: 'auto', asks: asking(() => DENY) },
    settingSources: ['user', 'project', 'local'],
  }
  const put = (path: string, text: string) => {
    const file = path.startsWith('~') ? join(home, path.slice(2)) : join(cwd, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return { open, put }
}

test('a process that has read other settings than a new one would read is known by them', t => {
  const { open, put } = settings(t)
  const changes: [string, string][] = [
    ['~/.claude/settings.json', '{"model":"opus"}'],
    ['.claude/settings.json', '{}'],
    ['.claude/settings.local.json', '{}'],
    ['.mcp.json', '{}'],
    ['.claude/skills/one/SKILL.md', 'one'],
    ['.claude/skills/one/SKILL.md', 'two'],
    ['~/.claude/agents/helper.md', 'x'],
    ['~/.claude.json', '{"mcpServers":{"a":{}}}'],
    ['~/.claude.json', '{"projects":{"/p":{"mcpServers":{"a":{}}}}}'],
  ]
  const seen = new Set([settingsState(open).state])
  for (const [path, text] of changes) {
    put(path, text)
    assert.equal(settingsState(open).state, settingsState(open).state)
    seen.add(settingsState(open).state)
  }
  assert.equal(seen.size, changes.length + 1)
})

test('what is read again for every conversation, or written all the time, is no part of them', t => {
  const { open, put } = settings(t)
  const { state } = settingsState(open)
  put('CLAUDE.md', 'rules')
  put('~/.claude/CLAUDE.md', 'rules')
  put('~/.claude.json', '{"numStartups":3,"projects":{"/p":{"lastCost":1,"mcpServers":{}}}}')
  put('~/.claude/plugins/store/x.json', '{}')
  put('~/.claude/projects/-p/id.jsonl', '{}')
  assert.equal(settingsState(open).state, state)
})

test('a process whose settings run commands beside the agent serves one session', t => {
  const hook = JSON.stringify({ hooks: { PostToolUse: [{ hooks: [{ type: 'command', command: 'npm run format' }] }] } })
  const runs: [string, string][] = [
    ['.claude/settings.json', hook],
    ['~/.claude/settings.json', JSON.stringify({ hooks: { SessionStart: [] } }, null, 2)],
    ['.claude/settings.local.json', JSON.stringify({ enabledPlugins: { 'formatter@team': true } })],
    ['.claude/agents/helper.md', '---\nname: helper\nhooks:\n  PostToolUse: []\n---\n'],
  ]
  for (const [path, text] of runs) {
    const { open, put } = settings(t)
    put(path, text)
    assert.match(settingsState(open).doubt ?? '', /run commands/, path)
    assert.equal(settingsState({ ...open, hooksOff: true }).doubt, undefined, path)
  }
  const { open, put } = settings(t)
  put('.claude/settings.json', JSON.stringify({ hooks: {}, enabledPlugins: {}, model: 'opus' }))
  put('.claude/agents/helper.md', '---\nname: helper\n---\nHooks: none.\n')
  assert.equal(settingsState(open).doubt, undefined)
  put('.claude/settings.json', JSON.stringify({ apiKeyHelper: './key.sh' }))
  assert.match(settingsState({ ...open, hooksOff: true }).doubt ?? '', /run commands/)
  assert.equal(settingsState({ ...open, settingSources: ['user'] }).doubt, undefined)
})

test('a pipe that an agent left in place of settings holds nobody up', t => {
  const { open, put } = settings(t)
  put('.claude/settings.json', '{}')
  const { state } = settingsState(open)
  execFileSync('mkfifo', [join(open.cwd, '.mcp.json')])
  assert.equal(settingsState(open).state, state)
})
