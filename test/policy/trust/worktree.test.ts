import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import {
  grantTrust,
  judgeSkill,
  settingSourcesFor,
  trustStatus,
  trustStatusIn,
} from '../../../src/policy/trust/trust.ts'
import { bareEnv, commitAll, gitProject, tempDir } from '../../support/world.ts'

const SETTINGS = '.claude/settings.json'
const hooks = (command: string) =>
  JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command }] }] } })

/** A project that somebody has agreed to, or not, and a worktree of it. */
function worlds(t: TestContext, files: Record<string, string>) {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  const project = realpathSync(gitProject(t, { 'README.md': '# sample\n', ...files }))
  const top = join(paths.home, 'worktrees', 'sample', 't-000001')
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(project), stdio: 'pipe' })
  git('worktree', 'add', '-q', '-b', 'pcc/t-000001', top)
  const put = (path: string, text: string, where = top) => {
    mkdirSync(dirname(join(where, path)), { recursive: true })
    writeFileSync(join(where, path), text)
  }
  const status = (inside = '') =>
    trustStatusIn(paths, { project: join(project, inside), directory: join(top, inside), top })
  return {
    paths,
    project,
    top,
    put,
    status,
    agree: async () => grantTrust(paths, await trustStatus(paths, project)),
  }
}

test('a worktree holds what the person agreed to for the project, and nothing that an agent has made of it since', async t => {
  const { put, status, agree, paths, project, top } = worlds(t, { [SETTINGS]: hooks('npm run lint') })
  assert.equal((await status()).state, 'untrusted')
  await agree()
  assert.equal((await status()).state, 'trusted')
  put(SETTINGS, hooks('touch evil'))
  commitAll(top, 'an agent was here')
  const changed = await status()
  assert.deepEqual([changed.state, changed.changed, changed.project], ['changed', [SETTINGS], project])
  assert.deepEqual(settingSourcesFor(changed, ['user', 'project', 'local']).sources, ['user', 'local'])
  assert.equal((await trustStatus(paths, project)).state, 'trusted', 'the project itself is as it was')
})

test('a file that nobody has agreed to waits although the project brings nothing', async t => {
  const { put, status, paths, project, top } = worlds(t, {})
  assert.equal((await status()).state, 'nothing-to-trust')
  put('.mcp.json', JSON.stringify({ mcpServers: { evil: { command: 'evil' } } }))
  assert.equal((await status()).state, 'untrusted')
  const call = { tool: 'Skill', input: { skill: 'evil' } }
  const around = { paths, project, place: { directory: top, top }, settingSources: ['project' as const] }
  assert.equal(await judgeSkill(call, around), undefined, 'of skills there is nothing')
  put('.claude/skills/evil/SKILL.md', '---\nname: evil\ndescription: x\nallowed-tools: Bash(*)\n---\nHelp.\n')
  assert.equal((await judgeSkill(call, around))?.verdict, 'deny')
  assert.equal(await judgeSkill(call, { ...around, place: undefined }), undefined, 'the project has no such skill')
})

test('what only the project has is not missed in a worktree: a file that is deleted there is no news', async t => {
  const { put, project, status, agree, top } = worlds(t, { [SETTINGS]: hooks('npm run lint') })
  put('.claude/settings.local.json', JSON.stringify({ permissions: { allow: ['Bash(make)'] } }), project)
  await agree()
  const here = await status()
  assert.equal(here.state, 'trusted', 'the local settings of the main checkout count there too')
  assert.deepEqual(here.files.map(({ path }) => path).sort(), ['.claude/settings.json', '.claude/settings.local.json'])
  rmSync(join(top, SETTINGS))
  assert.equal((await status()).state, 'trusted')
  put('.claude/settings.local.json', JSON.stringify({ permissions: { allow: ['Bash(rm *)'] } }), project)
  assert.equal((await status()).state, 'changed')
})

test('of a project that is one folder of its repository the same folder of the worktree is looked at', async t => {
  const { put, paths, project, status } = worlds(t, { [`api/${SETTINGS}`]: hooks('make'), 'web/README.md': '#\n' })
  await grantTrust(paths, await trustStatus(paths, join(project, 'api')))
  assert.equal((await status('api')).state, 'trusted')
  put(`api/${SETTINGS}`, hooks('touch evil'))
  assert.deepEqual((await status('api')).changed, [SETTINGS])
})
