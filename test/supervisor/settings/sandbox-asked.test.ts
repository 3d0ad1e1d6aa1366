import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { claudeManifest } from '../../../src/agents/manifests/claude.ts'
import { geminiManifest } from '../../../src/agents/manifests/gemini.ts'
import { findBubblewrap } from '../../../src/agents/sandbox/bubblewrap.ts'
import { placesFor } from '../../../src/base/places.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { sandboxAsked } from '../../../src/supervisor/settings/sandbox-asked.ts'
import { configWorld } from '../../domain/config/world.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

const SET = `agents.sandbox = "off"
agents.network = ["example.com"]
agents.sandbox_read = ["~/.shown"]
agents.sandbox_write = ["~/.cache/thing"]
`

const places = placesFor({ env: { HOME: '/home/me' }, dataDir: '/srv/pcc' })
const HIDDEN = ['/home/me/.perpetualcc', '/srv/pcc', '/srv/pcc/run', '/srv/pcc/logs']

test('agents.sandbox, agents.network, agents.sandbox_read and agents.sandbox_write reach the sandbox', async t => {
  const where = { manifest: geminiManifest, project: tempDir(t), place: undefined, places }
  const { asked: standard } = await sandboxAsked((await loadConfig(configWorld(t))).config, where)
  const made = await findBubblewrap()
  assert.deepEqual(standard, {
    ...('program' in made ? { mode: 'required', made } : { mode: 'auto' }),
    ...{ network: [], read: [], write: [], hidden: HIDDEN, git: undefined },
  })
  const { asked: set, stands } = await sandboxAsked((await loadConfig(configWorld(t, { user: SET }))).config, where)
  assert.deepEqual(
    { ...set, git: undefined },
    {
      mode: 'off',
      hidden: HIDDEN,
      git: undefined,
      network: ['example.com'],
      read: ['~/.shown'],
      write: ['~/.cache/thing'],
    },
  )
  assert.equal(stands, false)
})

test('a sandbox that is required is there, or nothing is started', async t => {
  const { config } = await loadConfig(configWorld(t, { user: 'agents.sandbox = "required"\n' }))
  const where = { manifest: geminiManifest, project: tempDir(t), place: undefined, places }
  if ('program' in (await findBubblewrap())) assert.equal((await sandboxAsked(config, where)).stands, true)
  else await assert.rejects(sandboxAsked(config, where), { code: 'sandbox_missing' })
  const held = await sandboxAsked(config, { ...where, manifest: claudeManifest })
  assert.deepEqual(held, { asked: undefined, stands: false })
})

test('of a worktree the repository is found from the project, whatever the worktree says', async t => {
  const project = gitProject(t)
  const top = join(tempDir(t), 'tree')
  const env = bareEnv(tempDir(t))
  execFileSync('git', ['worktree', 'add', '-q', '-b', 'pcc/t', top], { cwd: project, env, stdio: 'pipe' })
  const { config } = await loadConfig(configWorld(t))
  const place = { directory: top, top, task: 't-1', attempt: 1, branch: 'pcc/t', target: 'main', base: 'x' }
  const { asked } = await sandboxAsked(config, { manifest: geminiManifest, project, place, places })
  const common = join(project, '.git')
  assert.deepEqual(asked?.git, { top, own: join(common, 'worktrees/tree'), common })
  assert.deepEqual(asked?.read, [project])
  execFileSync('sh', ['-c', `printf 'gitdir: ${tempDir(t)}\n' > .git`], { cwd: top })
  assert.deepEqual(
    (await sandboxAsked(config, { manifest: geminiManifest, project, place, places })).asked?.git,
    undefined,
  )
})

test('the folder of a socket that lies elsewhere is hidden too', async t => {
  const { config } = await loadConfig(configWorld(t))
  const long = placesFor({ env: { HOME: '/home/me' }, dataDir: `/srv/${'x'.repeat(120)}` })
  const { asked } = await sandboxAsked(config, {
    ...{ manifest: geminiManifest, project: tempDir(t), place: undefined },
    places: long,
  })
  assert.ok(asked?.hidden.includes(dirname(long.socket)))
  assert.ok(!dirname(long.socket).startsWith('/srv'))
})
