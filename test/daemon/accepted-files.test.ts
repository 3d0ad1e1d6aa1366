import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type OwnFileChange, replaceOwnFile } from '../../src/base/accepted-file.ts'
import { type AppPaths, appPathsFor } from '../../src/base/app-paths.ts'
import { findChanges } from '../../src/cli/commands/accept.ts'
import { openAcceptedFiles } from '../../src/daemon/accepted-files.ts'
import { loadConfig } from '../../src/domain/config/load.ts'
import { agreementFor } from '../../src/policy/trust/record.ts'
import { loadRules } from '../../src/policy/verdict/load-rules.ts'
import { userRulesFile } from '../../src/policy/verdict/rules-file.ts'
import { acceptWithoutDaemon, readAcceptedFiles } from '../../src/store/accepted-files.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'

const ALLOW = '[[rules]]\neffect = "allow"\ntool = "Bash"\nmatch = "rm -rf build"\n'
const DENY = '[[rules]]\neffect = "deny"\ntool = "WebFetch"\n'
const TRUST = '{"version":1,"projects":{"/p":{"hash":"h","since":1,"files":{}}}}'

function homeIn(t: TestContext, dataDir?: string): AppPaths {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) }, dataDir })
  mkdirSync(paths.data, { recursive: true })
  return paths
}

/** What a daemon does with these files when it starts. */
async function start(t: TestContext, given: AppPaths) {
  const store = await openStore({ file: given.database })
  t.after(() => store.close())
  const warnings: string[] = []
  const accepted = await openAcceptedFiles({ store, paths: given, warn: text => warnings.push(text) })
  const paths = { ...given, accepted: accepted.contents }
  await loadConfig({ paths, env: {} })
  await accepted.beginAll()
  return {
    warnings,
    accept: accepted.accept,
    notes: () => accepted.contents.notes(),
    rules: async () => (await loadRules({ paths })).rules.map(({ effect }) => effect),
    keep: async () => (await loadConfig({ paths, env: {} })).config.logs.keep,
    trusts: async () => (await agreementFor(paths, '/p')) !== undefined,
  }
}

test('the first start accepts what is there, and a later change of rules, settings or trust has no effect', async t => {
  const paths = homeIn(t)
  writeFileSync(userRulesFile(paths), DENY)
  writeFileSync(paths.configFile, '[logs]\nkeep = 3\n')
  const daemon = await start(t, paths)
  assert.deepEqual([await daemon.rules(), await daemon.keep(), await daemon.trusts()], [['deny'], 3, false])
  assert.deepEqual(await findChanges(paths), [])

  writeFileSync(userRulesFile(paths), ALLOW)
  writeFileSync(paths.configFile, '[logs]\nkeep = 9\n')
  writeFileSync(paths.trustFile, TRUST)
  const stillOld = async (it: typeof daemon) =>
    assert.deepEqual([await it.rules(), await it.keep(), await it.trusts()], [['deny'], 3, false])
  await stillOld(daemon)
  assert.equal(daemon.warnings.length, 3)
  await stillOld(daemon)
  assert.equal(daemon.warnings.length, 3, 'each change is reported once')
  await stillOld(await start(t, paths))
  const changed = (await findChanges(paths)).map(({ path }) => path)
  assert.deepEqual(changed, [paths.configFile, userRulesFile(paths), paths.trustFile])

  for (const { path, accepted, found } of await findChanges(paths))
    await daemon.accept({ path, before: accepted, after: found })
  assert.deepEqual([await daemon.rules(), await daemon.keep(), await daemon.trusts()], [['allow'], 9, true])
  assert.deepEqual([daemon.notes(), await findChanges(paths)], [[], []])
})

test('a file that the person removes counts until they have agreed, and a settings file that is not valid is not agreed to', async t => {
  const paths = homeIn(t)
  writeFileSync(userRulesFile(paths), DENY)
  const daemon = await start(t, paths)
  writeFileSync(userRulesFile(paths), '')
  writeFileSync(paths.configFile, '[logs]\nkeep = "many"\n')
  assert.deepEqual([await daemon.rules(), await daemon.keep()], [['deny'], 5])
  const [config] = await findChanges(paths)
  assert.equal(config?.error?.code, 'config_invalid')
})

test('pcc does not build on content that does not count', async t => {
  const paths = homeIn(t)
  const daemon = await start(t, paths)
  writeFileSync(userRulesFile(paths), ALLOW)
  const change = { path: userRulesFile(paths), before: ALLOW, after: ALLOW + DENY }
  await assert.rejects(replaceOwnFile(change, daemon.accept), { code: 'file_changed' })
  assert.equal(readFileSync(userRulesFile(paths), 'utf8'), ALLOW, 'nothing was written')
  assert.equal(acceptWithoutDaemon(paths.database, change), false)
  assert.deepEqual(await daemon.rules(), [])
})

test('another data directory of the same home begins with what was accepted there', async t => {
  const paths = homeIn(t)
  await start(t, paths)
  writeFileSync(paths.configFile, `[data]\ndirectory = "${join(paths.home, 'other')}"\n[logs]\nkeep = 9\n`)
  const other = appPathsFor({ env: { PCC_HOME: paths.home }, dataDir: join(paths.home, 'other') })
  mkdirSync(other.data)
  const daemon = await start(t, other)
  assert.equal(await daemon.keep(), 5)
  assert.equal((await findChanges(other)).length, 1)
})

/** Writes rules as `pcc rules add` does while no daemon runs, and dies before or after the file is replaced. */
const DIES = (paths: AppPaths, when: 'before' | 'after') => `
const { replaceOwnFile } = await import(${JSON.stringify(new URL('../../src/base/accepted-file.ts', import.meta.url).href)})
const { acceptWithoutDaemon } = await import(${JSON.stringify(new URL('../../src/store/accepted-files.ts', import.meta.url).href)})
let calls = 0
const record = async change => {
  if (++calls === 1) acceptWithoutDaemon(${JSON.stringify(paths.database)}, change)
  if (calls === ${when === 'before' ? 1 : 2}) process.kill(process.pid, 'SIGKILL')
}
await replaceOwnFile(${JSON.stringify({ path: userRulesFile(paths), before: DENY, after: DENY + ALLOW } satisfies OwnFileChange)}, record)
`

test('a pcc that is killed while it writes leaves the old or the new rules in force, and nothing to ask about', async t => {
  for (const [when, expected] of [
    ['before', ['deny']],
    ['after', ['deny', 'allow']],
  ] as const) {
    const paths = homeIn(t)
    writeFileSync(userRulesFile(paths), DENY)
    const daemon = await start(t, paths)
    const child = spawn(process.execPath, ['--input-type=module', '-e', DIES(paths, when)], { stdio: 'inherit' })
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
    const next = await start(t, paths)
    assert.deepEqual(await next.rules(), expected, when)
    assert.deepEqual(await findChanges(paths), [])
    // Whatever comes on top of it is not the person's.
    writeFileSync(userRulesFile(paths), ALLOW)
    assert.deepEqual(await next.rules(), expected)
    assert.equal((await findChanges(paths)).length, 1)
    assert.ok(daemon && readAcceptedFiles(paths).length >= 3)
  }
})
