import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { describeProgram } from '../../../src/base/sandbox/bubblewrap.ts'
import { openSandbox } from '../../../src/base/sandbox/sandbox.ts'
import type { SandboxSettings } from '../../../src/base/sandbox/settings.ts'
import { CLAUDE_NEEDS } from '../../../src/domain/agents/claude.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

// Only the text of the profile is looked at: there is no Mac to run it on.

const program = { program: '/usr/bin/sandbox-exec', version: 'of macOS', kind: 'seatbelt' as const }

/** Claude Code with a home, a project in git and the sandbox of macOS. */
async function wrapped(t: TestContext, more: Partial<SandboxSettings> = {}) {
  const [home, project] = [tempDir(t), gitProject(t)]
  for (const [name, text] of Object.entries({
    '.ssh/id_rsa': 'key',
    '.gitconfig': '',
    '.claude/settings.json': '{}',
  })) {
    mkdirSync(join(home, name, '..'), { recursive: true })
    writeFileSync(join(home, name), text)
  }
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ projects: { '/other': 'secret' }, theme: 'dark' }))
  const hidden = tempDir(t)
  const settings = { mode: 'required' as const, network: ['*'], read: [], write: [], hidden: [hidden], ...more }
  const env = bareEnv(home)
  const opening = { bubblewrap: program, needs: CLAUDE_NEEDS, env, reading: false, log: () => undefined }
  const sandbox = openSandbox({ ...opening, settings: { ...settings, git: await findGitFolder(project) } })
  t.after(() => sandbox[Symbol.asyncDispose]())
  const inside = { command: '/bin/claude', args: ['-p'], cwd: project, env, shows: [], writes: [] }
  const { command, args, env: envInside } = sandbox.wrap(inside, { pidNamespace: true })
  const [, profile = '', ...rest] = args
  return { home, project, hidden, command, profile: profile.split('\n'), rest, env: envInside }
}

const at = (profile: string[], start: string, path: string) =>
  profile.findIndex(line => line.startsWith(`(${start}`) && line.includes(`"${path}"`))

test('the profile of macOS denies what is not listed, and has its rules in the order of the mounts', async t => {
  const { home, project, hidden, command, profile, rest } = await wrapped(t)
  assert.deepEqual([command, profile[0], profile[1]], ['/usr/bin/sandbox-exec', '(version 1)', '(deny default)'])
  assert.deepEqual(rest.slice(-3), [project, '/bin/claude', '-p'])
  const order = [
    at(profile, 'deny file-read-data file-write*', home),
    at(profile, 'allow file-read* (', join(home, '.gitconfig')),
    at(profile, 'allow file-read* file-write*', project),
    at(profile, 'deny file-write* ', join(project, '.git/hooks')),
    at(profile, 'deny file-write-unlink', join(project, '.git')),
  ]
  assert.deepEqual(
    order.toSorted((a, b) => a - b),
    order,
  )
  assert.ok(order.every(line => line > 0))
  assert.ok(at(profile, 'deny file-read-data file-write*', hidden) > 0)
  assert.ok(!profile.some(line => line.startsWith('(allow') && line.includes(`"${home}"`)))
  assert.ok(!profile.some(line => line.includes('.ssh')))
  // Parentheses and quotes are closed, or nothing would start.
  const text = profile.join('').replaceAll(/"(?:[^"\\\\]|\\\\.)*"/g, '')
  assert.equal(text.split('(').length, text.split(')').length)
})

test('on macOS the home is a folder of links to what is shown, with a copy of what the agent changes', async t => {
  const { home, env, profile } = await wrapped(t)
  const inside = env['HOME'] ?? ''
  assert.notEqual(inside, home)
  assert.equal(realpathSync(join(inside, '.gitconfig')), join(home, '.gitconfig'))
  assert.equal(realpathSync(join(inside, '.claude/settings.json')), join(home, '.claude/settings.json'))
  assert.deepEqual(JSON.parse(readFileSync(join(inside, '.claude.json'), 'utf8')), { projects: {}, theme: 'dark' })
  // Where tools make their caches.
  assert.ok(at(profile, 'allow file-read* file-write*', inside) > 0)
  assert.ok(!existsSync(join(inside, '.ssh')))
  assert.match(env['TMPDIR'] ?? '', /pcc-box-.*\/tmp$/)
})

test('on macOS a list of hosts leaves the way to the proxy and to listed ports, and no other', async t => {
  const { profile, env } = await wrapped(t, { network: ['example.com', '127.0.0.1:5432'] })
  const port = /:(\d+)$/.exec(env['HTTPS_PROXY'] ?? '')?.[1]
  const outbound = profile.filter(line => line.includes('network-outbound') && line.includes('remote ip'))
  assert.deepEqual(outbound, [`(allow network-outbound (remote ip "localhost:${port}") (remote ip "localhost:5432"))`])
  assert.ok(!profile.some(line => line.startsWith('(allow network*')))
  assert.ok((await wrapped(t)).profile.includes('(allow network* (local ip) (remote ip))'))
})

test('it is said that the sandbox of macOS is untested', () => {
  assert.equal(describeProgram(program), 'the sandbox of macOS (untested)')
  assert.equal(describeProgram({ program: '/usr/bin/bwrap', version: '0.8.0' }), 'bubblewrap 0.8.0')
})
