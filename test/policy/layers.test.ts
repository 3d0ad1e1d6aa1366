import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { listLayers, loadProfile, loadToolOverride } from '../../src/policy/layers.ts'
import { grantTrust, trustedFile, trustStatus } from '../../src/policy/trust/trust.ts'
import { loadRules } from '../../src/policy/verdict/load-rules.ts'
import { tempDir } from '../support/world.ts'

const RULE = (effect: string, match: string) => `[[rules]]\neffect = "${effect}"\ntool = "Bash"\nmatch = "${match}"\n`

/** A home and a project with these files; a name that begins with `home:` is in the home. */
function world(t: TestContext, files: Record<string, string>) {
  const root = tempDir(t)
  const project = join(root, 'project')
  const paths = appPathsFor({ env: { PCC_HOME: join(root, 'home') } })
  mkdirSync(project)
  mkdirSync(paths.home)
  for (const [name, content] of Object.entries(files)) {
    const path = name.startsWith('home:') ? join(paths.home, name.slice(5)) : join(project, '.perpetualcc', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  const options = async () => ({ paths, project, trusted: trustedFile(await trustStatus(paths, project)) })
  return {
    ...{ root, project, paths, options },
    states: async () =>
      Object.fromEntries((await listLayers(await options())).map(file => [`${file.layer} ${file.name}`, file.state])),
    trust: async () => grantTrust(paths, await trustStatus(paths, project)),
  }
}

const BOTH = {
  'home:policies/mine.toml': RULE('deny', 'curl *'),
  'home:profiles/conductor.toml': 'text = "mine"\n',
  'home:profiles/reviewer.toml': 'text = "mine too"\n[delegation]\nwarn = 2\nblock = 5\n',
  'home:tools/claude/hooks.toml': 'skip = ["Notification"]\n[timeouts]\nPreToolUse = 9\n',
  'policies/theirs.toml': RULE('allow', 'make *') + RULE('ask', 'git push *'),
  'policies/strict.toml': RULE('deny', 'rm *'),
  'profiles/conductor.toml': 'text = "theirs"\n',
  'tools/claude/hooks.toml': 'skip = ["SessionEnd"]\n',
}

test('the table of layers: a project counts before the person’s own, and only after trust', async t => {
  const { states, trust, options } = world(t, BOTH)
  const always = { 'project strict.toml': 'counts', 'global mine.toml': 'counts', 'global reviewer': 'counts' }
  assert.deepEqual(await states(), {
    ...always,
    ...{ 'project theirs.toml': 'untrusted', 'project conductor': 'untrusted', 'global conductor': 'counts' },
    ...{ 'project claude/hooks.toml': 'untrusted', 'global claude/hooks.toml': 'counts' },
  })
  assert.deepEqual(await loadProfile('conductor', await options()), { text: 'mine' })
  assert.deepEqual(await loadToolOverride('claude', await options()), {
    skip: ['Notification'],
    timeouts: { PreToolUse: 9 },
  })
  await trust()
  assert.deepEqual(await states(), {
    ...always,
    ...{ 'project theirs.toml': 'counts', 'project conductor': 'counts', 'global conductor': 'hidden' },
    ...{ 'project claude/hooks.toml': 'counts', 'global claude/hooks.toml': 'hidden' },
  })
  assert.deepEqual(await loadProfile('conductor', await options()), { text: 'theirs' })
  assert.deepEqual(await loadProfile('reviewer', await options()), { text: 'mine too', warn: 2, block: 5 })
  assert.equal(await loadProfile('nobody', await options()), undefined)
  assert.deepEqual(await loadToolOverride('claude', await options()), { skip: ['SessionEnd'], timeouts: {} })
})

test('a change of a file takes the agreement back', async t => {
  const { states, trust, project } = world(t, BOTH)
  await trust()
  writeFileSync(join(project, '.perpetualcc/profiles/conductor.toml'), 'text = "worse"\n')
  assert.equal((await states())['project conductor'], 'untrusted')
})

test('what counts is the content that was agreed to, also if the file changes in the same moment', async t => {
  const { trust, options, project } = world(t, BOTH)
  await trust()
  const { trusted, ...rest } = await options()
  const swap = (file: { path: string; content: string }) => {
    const isAgreed = trusted(file)
    writeFileSync(file.path, 'text = "worse"\n')
    return isAgreed
  }
  assert.deepEqual(await loadProfile('conductor', { ...rest, trusted: swap }), { text: 'theirs' })
  assert.equal(
    (await listLayers({ ...rest, trusted })).some(file => 'content' in file),
    false,
  )
  assert.equal(readFileSync(join(project, '.perpetualcc/profiles/conductor.toml'), 'utf8'), 'text = "worse"\n')
})

test('policies are rules: the project’s allow waits for trust, and what asks or denies counts at once', async t => {
  const { options, trust } = world(t, BOTH)
  const matches = async () => (await loadRules(await options())).rules.map(({ effect, match }) => `${effect} ${match}`)
  assert.deepEqual(await matches(), ['deny curl *', 'deny rm *', 'ask git push *'])
  assert.equal((await loadRules(await options())).waiting.length, 1)
  await trust()
  assert.deepEqual(await matches(), ['deny curl *', 'deny rm *', 'allow make *', 'ask git push *'])
})

test('a policy that cannot be read makes everything ask, and one of the person’s own may not allow', async t => {
  for (const content of ['effect = ', RULE('allow', 'rm *')]) {
    const { options } = world(t, { 'home:policies/bad.toml': content })
    const { rules, problem } = await loadRules(await options())
    assert.deepEqual(rules, [{ effect: 'ask', tool: '*' }])
    assert.match(problem?.message ?? '', /policies\/bad\.toml/)
  }
})

test('links inside count, and a project’s link that leads out is refused and cannot be agreed to', async t => {
  const { root, paths, project, states, trust } = world(t, { 'profiles/a.toml': 'text = "a"\n' })
  writeFileSync(join(root, 'outside.toml'), 'text = "outside"\n')
  symlinkSync('a.toml', join(project, '.perpetualcc/profiles/b.toml'))
  mkdirSync(join(paths.home, 'profiles'))
  symlinkSync(join(root, 'outside.toml'), join(paths.home, 'profiles/mine.toml'))
  await trust()
  assert.deepEqual(await states(), { 'project a': 'counts', 'project b': 'counts', 'global mine': 'counts' })
  symlinkSync(join(root, 'outside.toml'), join(project, '.perpetualcc/profiles/c.toml'))
  assert.equal((await states())['project c'], 'refused')
  await assert.rejects(trust(), /profiles\/c\.toml/)
})

test('a preset with a mistake is refused with its file and key', async t => {
  const { options } = world(t, {
    'home:profiles/a.toml': 'colour = "red"\n',
    'home:profiles/b.toml': '[delegation]\nwarn = -1\n',
    'home:tools/codex/hooks.toml': 'skip = "all"\n',
  })
  await assert.rejects(loadProfile('a', await options()), /a\.toml:1: colour: unknown key/)
  await assert.rejects(loadProfile('b', await options()), /b\.toml:1: warn/)
  await assert.rejects(loadToolOverride('codex', await options()), /hooks\.toml:1: skip/)
})
