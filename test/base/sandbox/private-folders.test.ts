import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { needsOf } from '../../../src/agents/agent-sandbox.ts'
import { makeScratch, prepareAgentFolder } from '../../../src/base/sandbox/home.ts'
import { PrivateFolders, readMountsInMemory } from '../../../src/base/sandbox/private-folders.ts'
import { CLAUDE_NEEDS } from '../../../src/domain/agents/claude.ts'
import { tempDir } from '../../support/world.ts'

/** The folders of a sandbox as an agent finds them, with one that stands for those in memory. */
function places(t: TestContext) {
  const scratch = makeScratch(tempDir(t))
  const put = (path: string, text = 'x') => {
    mkdirSync(dirname(join(scratch.root, path)), { recursive: true })
    writeFileSync(join(scratch.root, path), text)
  }
  for (const path of ['home/.npmrc', 'agent/.claude.json', 'tmp/claude-0/probe', 'caches/npm/changes/index']) put(path)
  mkdirSync(join(scratch.root, 'tmp/mounted/project'), { recursive: true })
  const memory = join(scratch.root, 'memory')
  mkdirSync(memory)
  const all = new PrivateFolders(scratch, CLAUDE_NEEDS.folder, { inMemory: () => [memory] })
  all.remember(process.pid)
  return {
    put,
    at: (path: string) => join(scratch.root, path),
    restore: () => all.restore(process.pid),
  }
}

test('what a task adds to /tmp and to the home directory is gone for the next one, and nothing else', t => {
  const { put, at, restore } = places(t)
  const left = ['tmp/left', 'tmp/mounted/left', 'tmp/folder/deep/left', 'home/left', 'tmp/claude-0/-p/id/tasks/left']
  for (const path of left) put(path)
  symlinkSync('/etc', at('home/link'))
  const own = ['agent/projects/-p/id.jsonl', 'agent/.claude.json', 'agent/todos/x', 'tmp/cc-socks/1.sock']
  for (const path of own) put(path, 'changed')
  rmSync(at('tmp/claude-0/probe'))
  assert.equal(restore(), undefined)
  assert.deepEqual(
    [...left, 'home/link'].filter(path => existsSync(at(path))),
    [],
  )
  const kept = [...own, 'home/.npmrc', 'tmp/mounted/project', 'tmp/claude-0']
  assert.deepEqual(
    kept.filter(path => !existsSync(at(path))),
    [],
  )
  assert.equal(restore(), undefined, 'again, after another task')
})

test('a change that cannot be undone is named', t => {
  const ways: [string, (world: ReturnType<typeof places>) => void][] = [
    ['.npmrc in its home directory', ({ put }) => put('home/.npmrc', 'changed')],
    ['.npmrc in its home directory', ({ at }) => rmSync(at('home/.npmrc'))],
    ['mounted/project in its /tmp', ({ at }) => renameSync(at('tmp/mounted/project'), at('tmp/mounted/moved'))],
    ['npm/changes/index in the package caches', ({ put }) => put('caches/npm/changes/index', 'changed')],
    ['npm/changes/more in the package caches', ({ put }) => put('caches/npm/changes/more')],
    ['/.*/memory/left', ({ put }) => put('memory/left')],
    ["CLAUDE.md in the agent's own folder", ({ put }) => put('agent/CLAUDE.md')],
    ["settings.json in the agent's own folder", ({ put }) => put('agent/settings.json')],
    ["skills in the agent's own folder", ({ put }) => put('agent/skills/left/SKILL.md')],
    ["plugins/left.json in the agent's own folder", ({ put }) => put('agent/plugins/left.json')],
  ]
  for (const [named, act] of ways) {
    const world = places(t)
    act(world)
    assert.match(world.restore() ?? '', new RegExp(`^the task before has (left|changed) ${named}$`))
  }
})

test('without a note of how the folders were at first nothing is known', t => {
  const scratch = makeScratch(tempDir(t))
  const unknown = new PrivateFolders(scratch, CLAUDE_NEEDS.folder, { inMemory: () => [] })
  assert.match(unknown.restore(process.pid) ?? '', /could not be compared/)
  const closed = new PrivateFolders(scratch, CLAUDE_NEEDS.folder)
  closed.remember(2 ** 22 + 1)
  assert.match(closed.restore(process.pid) ?? '', /could not be compared/)
})

test('the state of the shell counts as changed as soon as there is one, and so do notes for later conversations', t => {
  for (const [file, why] of [
    ['agent/shell-snapshots/snapshot.sh', /may have changed shell-snapshots\/snapshot.sh/],
    ['agent/projects/-project/memory/MEMORY.md', /has left projects\/-project\/memory\/MEMORY.md/],
  ] as const) {
    const { put, restore } = places(t)
    put('agent/projects/-project/conversation.jsonl')
    assert.equal(restore(), undefined)
    put(file)
    assert.match(restore() ?? '', why)
  }
})

test('a folder in memory counts if it is the sandbox’s own, not if it is a part of the machine’s', () => {
  const mounts = [
    '600 590 0:60 / / rw,relatime - tmpfs tmpfs rw',
    '601 600 0:61 / /dev/shm rw,nosuid - tmpfs tmpfs rw',
    '602 600 0:62 / /run ro,nosuid - tmpfs tmpfs rw',
    '603 600 0:40 /pcc/project /tmp/pcc/project rw,relatime - tmpfs tmpfs rw,size=9g',
    '604 600 254:0 /home/u/.cache /home/u/.cache rw,relatime - ext4 /dev/vda rw',
    '605 600 0:63 / /with\\040blank rw - tmpfs tmpfs rw',
  ]
  assert.deepEqual(readMountsInMemory(mounts.join('\n')), ['/', '/dev/shm', '/with blank'])
})

test('where no MCP server of a person is started, their keys are not in the sandbox', t => {
  const home = tempDir(t)
  const servers = { mcpServers: { github: { command: 'x', env: { TOKEN: 'planted' } } } }
  writeFileSync(
    join(home, '.claude.json'),
    JSON.stringify({ a: 1, ...servers, projects: { '/p': { b: 2, ...servers }, '/q': {} } }),
  )
  const copy = (strictMcp: boolean) => {
    const scratch = makeScratch(tempDir(t))
    const { folder } = needsOf(CLAUDE_NEEDS, { cwd: '/p', strictMcp })
    assert.ok(folder)
    prepareAgentFolder(folder, { env: {}, home, projects: ['/p'], scratch, kept: '' })
    return JSON.parse(readFileSync(join(scratch.home, '.claude.json'), 'utf8')) as unknown
  }
  assert.deepEqual(copy(true), { a: 1, projects: { '/p': { b: 2 } } })
  assert.deepEqual(copy(false), { a: 1, ...servers, projects: { '/p': { b: 2, ...servers } } })
})
