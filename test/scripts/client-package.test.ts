import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bundleClient } from '../../scripts/bundle.ts'
import { ROOT, tool } from '../../scripts/places.ts'
import { tempDir } from '../support/world.ts'

/** A page or a program of somebody else. It has no built-in modules, and its types are checked as they check them. */
const PROGRAM = `
import { ApiError, openApiClient } from 'perpetualcc/client'
const asked: string[] = []
const answers = [{ id: 't-1', state: 'ready' }, { code: 'key_expired', detail: 'It has expired.' }]
const client = openApiClient({
  address: 'http://127.0.0.1:1',
  key: 'k',
  fetch: async (url, init) => {
    asked.push(\`\${init?.method} \${String(url)}\`)
    const body = answers.shift()
    return new Response(JSON.stringify(body), { status: body?.code ? 401 : 200 })
  },
})
const { body } = await client.call('readTask', { params: { task: 't-1' } })
const title: string = body.title
// @ts-expect-error: a task has a title and no name
const name: string = body.name
// @ts-expect-error: a path needs what it names
const wrong = () => client.call('readTask', {})
const code = await client.call('listTasks', {}).catch(error => error instanceof ApiError && error.problem.code)
console.log(JSON.stringify([asked, body.state, code]))
export { name, title, wrong }
`

test('the package has a client of the API, with types, for programs that have nothing but fetch', async t => {
  const dir = tempDir(t)
  const [home, program] = [join(dir, 'package'), join(dir, 'program')]
  mkdirSync(join(home, 'dist/client'), { recursive: true })
  mkdirSync(join(program, 'node_modules'), { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(home, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  symlinkSync(home, join(program, 'node_modules/perpetualcc'))
  bundleClient({ esbuild: tool('esbuild'), tsc: tool('tsc') }, { root: ROOT, outDir: join(home, 'dist/client') })
  writeFileSync(join(program, 'main.mts'), PROGRAM)
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024']
  const lib = ['--lib', 'es2025,esnext.disposable,dom', '--types', '', 'main.mts']
  const checked = spawnSync(tool('tsc'), [...options, ...lib], { cwd: program, encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stdout)
  const said = execFileSync(process.execPath, ['main.mts'], { cwd: program, encoding: 'utf8' })
  assert.deepEqual(JSON.parse(said), [
    ['GET http://127.0.0.1:1/api/v1/tasks/t-1', 'GET http://127.0.0.1:1/api/v1/tasks'],
    'ready',
    'key_expired',
  ])
})
