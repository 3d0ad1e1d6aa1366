import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { holdLeaders } from '../../../src/supervisor/hooks/delegation.ts'
import { bareEnv } from '../../support/world.ts'
import { answerBy, type HookWorld, openHookWorld } from './hook-world.ts'

const hold = holdLeaders({})

/** One call, before it runs. */
function call(world: HookWorld, tool: string, more: Call = {}) {
  const { input = inputOf(tool, world), role = 'conductor', ...rest } = more
  const env = { ...bareEnv(world.home), ...(role === '' ? {} : { AGENT_ROLE: role }) }
  return answerBy(hold, world.event('tool_before', { tool, input, ...rest }), world.context({ env }))
}

interface Call {
  input?: Record<string, unknown>
  role?: string
  session?: string
  agent_id?: string
  agent_type?: string
}

function inputOf(tool: string, { project }: HookWorld): Record<string, unknown> {
  return tool === 'Bash' ? { command: 'npm test' } : { file_path: join(project, 'src/a.ts') }
}

async function decisions(world: HookWorld, tools: string[], more: Call = {}): Promise<string[]> {
  const all: string[] = []
  for (const tool of tools) all.push((await call(world, tool, more)).decision)
  return all
}

const folderOf = (world: HookWorld) => join(world.project, '.claude/.delegation-state')

/** Some work, five times. */
const FIVE = ['Edit', 'Bash', 'Write', 'mcp__db__query', 'Edit']

test('a conductor is refused the sixth call that it makes itself, and delegating starts the count anew', async t => {
  const world = openHookWorld(t)
  assert.deepEqual(await decisions(world, FIVE), ['none', 'none', 'none', 'none', 'none'])
  const refused = await call(world, 'Edit')
  assert.equal(refused.decision, 'deny')
  assert.match(refused.reason ?? '', /conductor.*5 calls yourself.*Agent or Task/)
  assert.equal((await call(world, 'Read')).decision, 'none', 'reading is no work')
  assert.equal((await call(world, 'Edit')).decision, 'deny')
  assert.equal((await call(world, 'Task', { input: { prompt: 'x' } })).decision, 'none')
  assert.equal((await call(world, 'Edit')).decision, 'none')
})

test('the preset of a role says from which call on, before the settings, and one that cannot be read changes nothing', async t => {
  const world = openHookWorld(t)
  const env = { ...bareEnv(world.home), AGENT_ROLE: 'conductor' }
  const edit = (profile: () => Promise<{ block: number }>) =>
    answerBy(
      holdLeaders({ profile }),
      world.event('tool_before', { tool: 'Edit', input: inputOf('Edit', world) }),
      world.context({ env }),
    )
  assert.equal((await edit(async () => ({ block: 2 }))).decision, 'none')
  assert.equal((await edit(() => Promise.reject(new Error('no TOML')))).decision, 'none')
  assert.equal((await edit(async () => ({ block: 2 }))).decision, 'deny')
})

test('hooks.delegation.warn and hooks.delegation.block say from which call on', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nwarn = 1\nblock = 3\n' })
  const env = { ...bareEnv(world.home), AGENT_ROLE: 'conductor' }
  const after = () =>
    answerBy(
      hold,
      world.event('tool_after', { tool: 'Edit', input: inputOf('Edit', world), ok: true, output: '' }),
      world.context({ env }),
    )
  assert.equal((await after()).context, undefined)
  assert.deepEqual(await decisions(world, ['Edit']), ['none'])
  assert.match((await after()).context ?? '', /made 1 calls yourself.*1 more/)
  assert.deepEqual(await decisions(world, ['Edit', 'Edit']), ['none', 'deny'])
  world.configure('')
  assert.equal((await call(world, 'Edit', { session: 'c-2' })).decision, 'none')
})

test('who has no known rank is held to nothing, nor is a musician or a subagent', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nblock = 1\n' })
  for (const role of ['', 'admin', 'musician', 'conductor2'])
    assert.equal((await call(world, 'Edit', { role })).decision, 'none', role)
  assert.equal((await call(world, 'Edit', { agent_id: 'a-1', agent_type: 'Explore' })).decision, 'none')
  for (const role of ['conductor', ' Conductor ']) assert.equal((await call(world, 'Edit', { role })).decision, 'deny')
})

test('hooks.delegation.tiers = "three" also holds section leaders, each by its own count', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nblock = 2\n' })
  const leader = { agent_id: 'a-1', agent_type: 'section_leader' }
  assert.deepEqual(await decisions(world, ['Edit', 'Edit'], { role: 'section-leader' }), ['none', 'none'])
  assert.deepEqual(await decisions(world, ['Edit', 'Edit'], leader), ['none', 'none'])
  world.configure('[hooks.delegation]\nblock = 2\ntiers = "three"\n')
  assert.deepEqual(await decisions(world, ['Edit', 'Edit'], { role: 'section leader' }), ['none', 'deny'])
  assert.deepEqual(await decisions(world, ['Edit', 'Edit'], leader), ['none', 'deny'])
  assert.deepEqual(await decisions(world, ['Edit', 'Edit'], { ...leader, agent_id: 'a-2' }), ['none', 'deny'])
})

test('hooks.delegation.allow lists files that may be edited, and no link leads out of them', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nblock = 1\n' })
  const write = (path: string) => call(world, 'Write', { input: { file_path: join(world.project, path) } })
  assert.equal((await write('.claude/agents/new/x.md')).decision, 'none')
  assert.equal((await write('src/a.ts')).decision, 'deny')
  assert.equal((await write('.claude/../src/a.ts')).decision, 'deny')
  mkdirSync(join(world.project, 'src'))
  mkdirSync(join(world.project, '.claude'), { recursive: true })
  symlinkSync('../src', join(world.project, '.claude/link'))
  assert.equal((await write('.claude/link/a.ts')).decision, 'deny')
  assert.match((await write('.claude/.delegation-state/x.json')).reason ?? '', /kept by pcc/)
  world.configure('[hooks.delegation]\nblock = 1\nallow = ["notes/", "TODO.md"]\n')
  assert.equal((await write('.claude/agents/x.md')).decision, 'deny')
  assert.equal((await write('notes/x.md')).decision, 'none')
  assert.equal((await write('TODO.md')).decision, 'none')
  assert.equal((await write('TODO.md.ts')).decision, 'deny')
})

test('the count is in the project for people to see, changes no tree, and is not lost with its file', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nblock = 6\n' })
  await decisions(world, ['Edit', 'Edit'])
  const [file = ''] = readdirSync(folderOf(world)).filter(name => name.endsWith('.json'))
  const path = join(folderOf(world), file)
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).calls_since_delegation, 2)
  const status = execFileSync('git', ['status', '--porcelain'], { cwd: world.project, encoding: 'utf8' })
  assert.equal(status, '')
  rmSync(folderOf(world), { recursive: true })
  assert.match((await call(world, 'Edit')).notice ?? '', /is missing.*goes on/)
  assert.equal((await call(world, 'Edit')).notice, undefined)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"calls_since_delegation": 4', '"calls_since_delegation": 0'))
  const answer = await call(world, 'Edit')
  assert.match(answer.notice ?? '', /changed by somebody else/)
  assert.equal((await call(world, 'Edit')).decision, 'deny', 'it is the sixth call')
})

test('a folder behind a link is not written, and the count goes on', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nblock = 2\n' })
  const elsewhere = join(world.home, 'elsewhere')
  mkdirSync(elsewhere)
  symlinkSync(elsewhere, join(world.project, '.claude'))
  assert.match((await call(world, 'Edit')).notice ?? '', /behind a link/)
  assert.equal((await call(world, 'Edit')).decision, 'deny')
  assert.deepEqual(readdirSync(elsewhere), [])
})

test('two calls at once are both counted, and no file is left half written', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nblock = 5\n' })
  let isOver = false
  // A person may look at the state at any time.
  const look = async () => {
    for (let seen = 0; ; await new Promise(setImmediate)) {
      const names = existsSync(folderOf(world)) ? readdirSync(folderOf(world)) : []
      const files = names.filter(name => /^\w+\.json$/.test(name)).map(name => join(folderOf(world), name))
      for (const file of files) JSON.parse(readFileSync(file, 'utf8'))
      seen += files.length
      if (isOver) return seen
    }
  }
  const looking = look()
  const all = await Promise.all(Array.from({ length: 12 }, () => call(world, 'Edit')))
  isOver = true
  assert.ok((await looking) > 0, 'and none is ever seen half written')
  assert.equal(all.filter(({ decision }) => decision === 'none').length, 4)
  assert.deepEqual(
    all.flatMap(({ notice }) => notice ?? []),
    [],
  )
  assert.ok(!readdirSync(folderOf(world)).some(name => name.endsWith('.tmp')))
})

test('a marker gives a rank only to its own conversation, while its process lives, and never over AGENT_ROLE', async t => {
  const world = openHookWorld(t, { settings: '[hooks.delegation]\nblock = 1\n' })
  world.write('.claude/.delegation-state/role.json', '{"session":"c-1","role":"conductor"}')
  assert.equal((await call(world, 'Edit', { role: '' })).decision, 'none', 'there is no lock')
  world.write('.claude/.delegation-state/role.lock', `${process.pid}\n`)
  assert.equal((await call(world, 'Edit', { role: '' })).decision, 'deny')
  assert.equal((await call(world, 'Edit', { role: 'musician' })).decision, 'none')
  assert.equal((await call(world, 'Edit', { role: '', session: 'c-2' })).decision, 'none')
  world.write('.claude/.delegation-state/role.lock', '999999999\n')
  assert.equal((await call(world, 'Edit', { role: '' })).decision, 'none', 'its process is gone')
  assert.ok(existsSync(folderOf(world)))
})
