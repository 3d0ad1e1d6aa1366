import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SOURCE_BIN } from '../support/program.ts'
import { type Pcc, pccFor } from './pcc.ts'

const ROOT = new URL('../../', import.meta.url).href
const PRELOAD = fileURLToPath(new URL('./list-modules.ts', import.meta.url))

async function loadedModules(pcc: Pcc, args: string[], exit = 0): Promise<{ ours: string[]; builtins: string[] }> {
  const file = join(pcc.home, `modules-${args.join('-')}.json`)
  const { code, stderr } = await pcc.run(args, {
    bin: SOURCE_BIN,
    nodeArgs: ['--import', PRELOAD],
    env: { PCC_LISTED_MODULES: file },
  })
  assert.equal(code, exit, stderr)
  const { loaded, builtins } = JSON.parse(readFileSync(file, 'utf8')) as { loaded: string[]; builtins: string[] }
  return { ours: loaded.filter(url => url.startsWith(ROOT)).map(url => url.slice(ROOT.length)), builtins }
}

test('a hot command imports exactly these few files, and neither commander, zod nor an HTTP library', async t => {
  const pcc = pccFor(t)
  assert.equal((await pcc.run(['daemon', 'start'])).code, 0)
  const { ours, builtins } = await loadedModules(pcc, ['list'])
  assert.deepEqual(ours.filter(path => path !== 'test/cli/list-modules.ts').sort(), [
    'bin/pcc.js',
    'src/base/app-paths.ts',
    'src/base/clock.ts',
    'src/base/neutral.ts',
    'src/base/program.ts',
    'src/cli/commands/list.ts',
    'src/cli/connection/client.ts',
    'src/cli/connection/raw-request.ts',
    'src/cli/context.ts',
    'src/cli/hot-commands.ts',
    'src/cli/main.ts',
    'src/cli/render/format.ts',
    'src/cli/render/list-table.ts',
    'src/cli/render/text.ts',
  ])
  assert.ok(builtins.includes('NativeModule net'), 'the list of built-in modules is real')
  const heavy = builtins.filter(name => /NativeModule (_?http|https|tls|_tls|http2|child_process|readline)/.test(name))
  assert.deepEqual(heavy, [])

  const slow = await loadedModules(pcc, ['daemon', 'status'])
  assert.ok(
    slow.ours.some(path => path.includes('node_modules/commander')) &&
      slow.builtins.includes('NativeModule child_process'),
    'a command that is not hot shows that the check can see them',
  )
})

test('the code that draws full screens is not loaded by other commands', async t => {
  const pcc = pccFor(t)
  assert.equal((await pcc.run(['daemon', 'start'])).code, 0)
  for (const args of [[], ['pending'], ['inbox', '--help']]) {
    const { ours } = await loadedModules(pcc, args)
    assert.deepEqual(
      ours.filter(path => /node_modules\/(ink|react|yoga-layout)/.test(path)),
      [],
    )
  }
})

test('start loads neither commander, zod nor an HTTP library', async t => {
  const pcc = pccFor(t)
  const { ours, builtins } = await loadedModules(pcc, ['start', 'nowhere', '--task', 'x'], 2)
  assert.ok(ours.includes('src/cli/commands/start-session.ts'))
  assert.deepEqual(
    ours.filter(path => path.includes('node_modules')),
    [],
  )
  assert.deepEqual(
    builtins.filter(name => /NativeModule (_http_client|_http_server|child_process|readline)/.test(name)),
    [],
  )
})
