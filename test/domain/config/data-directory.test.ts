import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor, dataDirectoryHint } from '../../../src/base/app-paths.ts'
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
  const hint = (user?: string) => dataDirectoryHint(writeConfigFiles(t, user === undefined ? {} : { user }).paths, {})
  assert.equal(hint(), 'default')
  assert.equal(hint('[permissions]\nsafe_directories = ["src/"]\n'), 'default')
  assert.equal(hint('[data]\ndirectory = "/x"\n'), 'look')
  assert.equal(hint('[data]\n"\\u0064irectory" = "/x"\n'), 'look')
  const { home, paths } = writeConfigFiles(t)
  const named = (configFile: string) => dataDirectoryHint({ ...paths, configFile }, {})
  assert.equal(named(home), 'look', 'what cannot be read is for the loader to refuse')
  assert.equal(named(join(home, 'nope.toml')), 'look', 'and so is one that was named and is not there')
  assert.equal(dataDirectoryHint(paths, { PCC_HOME: 'here' }), 'look', 'or a home that depends on where one stands')
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
