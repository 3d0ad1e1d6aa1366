import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor, dataDirectoryHint, ownFolders } from '../../../src/base/app-paths.ts'
import { resolvePaths } from '../../../src/domain/config/load.ts'
import { bareEnv } from '../../support/world.ts'
import { writeConfigFiles } from './config-files.ts'

test('data.directory moves the database, the socket and the logs, below --data-dir and PCC_DATA_DIRECTORY', async t => {
  const { env, home } = writeConfigFiles(t, { user: '[data]\ndirectory = "~/elsewhere"\n' })
  const paths = await resolvePaths({ env })
  assert.equal(paths.database, join(home, 'elsewhere', 'perpetualcc.db'))
  assert.equal(paths.run, join(home, 'elsewhere', 'run'))
  assert.equal(paths.logs, join(home, 'elsewhere', 'logs'))
  assert.equal((await resolvePaths({ env, dataDir: '/flag' })).data, '/flag')
  assert.equal((await resolvePaths({ env: { ...env, PCC_DATA_DIRECTORY: '/env' } })).data, '/env')
  const { env: bare } = writeConfigFiles(t)
  assert.deepEqual(await resolvePaths({ env: bare }), appPathsFor({ env: bare }))
})

test('the hint says default only where the file cannot move the data directory', async t => {
  const hint = (user?: string) => dataDirectoryHint(writeConfigFiles(t, user === undefined ? {} : { user }).paths, HOME)
  assert.equal(hint(), 'default')
  assert.equal(hint('[permissions]\nsafe_directories = ["src/"]\n'), 'default')
  assert.equal(hint('[data]\ndirectory = "/x"\n'), 'look')
  assert.equal(hint('[data]\n"\\u0064irectory" = "/x"\n'), 'look')
  const { home, paths } = writeConfigFiles(t)
  const named = (configFile: string) => dataDirectoryHint({ ...paths, configFile }, HOME)
  assert.equal(named(home), 'look', 'what cannot be read is for the loader to refuse')
  assert.equal(named(join(home, 'nope.toml')), 'look', 'and so is one that was named and is not there')
  writeFileSync(join(home, 'broken.toml'), '[permissions\n')
  assert.equal(named(join(home, 'broken.toml')), 'look', 'or one that is broken')
  assert.equal(dataDirectoryHint(paths, { PCC_HOME: 'here' }), 'look', 'or a home that depends on where one stands')
})

const HOME = { HOME: '/home/somebody' }

test('the memory is where AI_MEMORY_PATH says, else in a home that was named, else where the settings of all programs are', () => {
  const memory = (env: Record<string, string>) => appPathsFor({ env: { ...HOME, ...env } }).memory
  assert.equal(memory({ AI_MEMORY_PATH: '/m', PCC_HOME: '/p' }), '/m')
  assert.equal(memory({ PCC_HOME: '/p', XDG_CONFIG_HOME: '/x' }), '/p/memory')
  assert.equal(memory({ XDG_CONFIG_HOME: '/x' }), '/x/perpetualcc/memory')
  assert.equal(
    memory({ XDG_CONFIG_HOME: 'x' }),
    '/home/somebody/.config/perpetualcc/memory',
    'a relative one does not count',
  )
  const elsewhere = appPathsFor({ env: { ...HOME, AI_MEMORY_PATH: '/m' } })
  assert.ok(ownFolders(elsewhere).includes('/m'), 'every sandbox hides it, wherever it is')
  const named = memory({ PCC_HOME: '/home/somebody/.perpetualcc' })
  assert.equal(named, memory({}), 'the daemon is told its home, and finds the same memory as a person who named none')
})

test('without a home, and with one that depends on where one stands, pcc refuses to work', async () => {
  for (const env of [
    {},
    { HOME: '' },
    { HOME: 'here' },
    { HOME: '/h', PCC_HOME: 'p' },
    { HOME: '/h', AI_MEMORY_PATH: 'm' },
  ]) {
    assert.equal(dataDirectoryHint(appPathsFor({ env }), env), 'look', JSON.stringify(env))
    await assert.rejects(resolvePaths({ env }), { code: 'setting_invalid' }, JSON.stringify(env))
  }
})

test('the hint costs neither zod nor a TOML parser', t => {
  const module = new URL('../../../src/base/app-paths.ts', import.meta.url).href
  const code = `import { registerHooks } from 'node:module'
    const seen = []
    registerHooks({ resolve: (name, context, next) => { seen.push(name); return next(name, context) } })
    await import(${JSON.stringify(module)})
    console.log(JSON.stringify(seen))`
  const { home } = writeConfigFiles(t)
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    env: bareEnv(home),
  })
  assert.deepEqual(JSON.parse(printed), [module])
})
