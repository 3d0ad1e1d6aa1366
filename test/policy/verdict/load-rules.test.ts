import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { grantTrust, trustedFile, trustStatus } from '../../../src/policy/trust/trust.ts'
import { loadRules, openRules } from '../../../src/policy/verdict/load-rules.ts'
import { gitProject, tempDir } from '../../support/world.ts'

const rule = (effect: string, tool: string) => `[[rules]]\neffect = "${effect}"\ntool = "${tool}"\n`
const ASK_ALL = { effect: 'ask', tool: '*' }

function world(t: TestContext) {
  const paths = appPathsFor({ env: { HOME: tempDir(t) } })
  const project = gitProject(t)
  const write = (file: string, content: string) => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  const own = join(paths.home, 'rules.toml')
  const theirs = join(project, '.perpetualcc/rules.toml')
  return { paths, project, write, own, theirs }
}

test("the person's rules come first, then the project's; without files there are none", async t => {
  const { paths, project, write, own, theirs } = world(t)
  assert.deepEqual((await loadRules({ paths, project })).rules, [])
  write(own, rule('allow', 'WebFetch'))
  write(theirs, rule('deny', 'WebFetch'))
  const { rules, written } = await loadRules({ paths, project })
  assert.deepEqual(rules, [
    { effect: 'allow', tool: 'WebFetch' },
    { effect: 'deny', tool: 'WebFetch' },
  ])
  assert.deepEqual(
    written.map(each => each.file),
    [own, theirs],
  )
  const below = join(project, 'packages/one')
  mkdirSync(below, { recursive: true })
  assert.equal((await loadRules({ paths, project: below })).rules.length, 2)
  assert.equal((await loadRules({ paths })).rules.length, 1)
})

test("a project's allow rules count only after pcc trust, and wait again when its file changes", async t => {
  const { paths, project, write, theirs } = world(t)
  write(theirs, rule('allow', 'WebFetch') + rule('ask', 'Write'))
  const load = async () => loadRules({ paths, project, trusted: trustedFile(await trustStatus(paths, project)) })
  const before = await load()
  assert.deepEqual(before.rules, [{ effect: 'ask', tool: 'Write' }])
  assert.deepEqual(
    before.waiting.map(each => each.rule.effect),
    ['allow'],
  )

  const status = await trustStatus(paths, project)
  assert.equal(status.state, 'untrusted')
  assert.deepEqual(
    status.files.map(file => file.contains),
    [[{ kind: 'allow rules', text: 'allow WebFetch' }]],
  )
  await grantTrust(paths, status)
  assert.equal((await load()).rules.length, 2)

  write(theirs, rule('allow', '*'))
  assert.equal((await trustStatus(paths, project)).state, 'changed')
  assert.deepEqual((await load()).rules, [])
  write(theirs, rule('deny', 'Write'))
  assert.equal((await trustStatus(paths, project)).files.length, 0)
  assert.deepEqual((await load()).rules, [{ effect: 'deny', tool: 'Write' }])
})

test('with a wrong file the last good rules stay in force, and a deleted file takes its rules along', async t => {
  const { paths, project, write, own } = world(t)
  const loader = openRules()
  write(own, rule('deny', 'WebFetch'))
  assert.deepEqual((await loader.load({ paths, project })).rules, [{ effect: 'deny', tool: 'WebFetch' }])
  write(own, `${rule('allow', 'WebFetch')}effekt = 1\n`)
  const broken = await loader.load({ paths, project })
  assert.deepEqual(broken.rules, [{ effect: 'deny', tool: 'WebFetch' }])
  assert.match(broken.problem?.message ?? '', /rules\.toml:4: there is no key "effekt"/)
  write(own, rule('allow', 'WebFetch'))
  const mended = await loader.load({ paths, project })
  assert.deepEqual([mended.rules, mended.problem], [[{ effect: 'allow', tool: 'WebFetch' }], undefined])
  rmSync(own)
  assert.deepEqual((await loader.load({ paths, project })).rules, [])
  write(own, 'broken')
  assert.deepEqual((await loader.load({ paths, project })).rules, [ASK_ALL])
})

test('with a wrong file and no good one before, everything asks and denies stay', async t => {
  const { paths, project, write, own, theirs } = world(t)
  write(own, rule('allow', 'WebFetch') + rule('deny', 'Write'))
  write(theirs, 'broken')
  const { rules, problem } = await loadRules({ paths, project })
  assert.deepEqual(rules, [{ effect: 'allow', tool: 'WebFetch' }, { effect: 'deny', tool: 'Write' }, ASK_ALL])
  assert.match(problem?.message ?? '', /\.perpetualcc\/rules\.toml:1: /)
})

test('what is no readable text of a sane size is a wrong file', async t => {
  const { paths, write, own } = world(t)
  const problemOf = async () => {
    const { rules, problem } = await loadRules({ paths })
    assert.deepEqual(rules, [ASK_ALL])
    return problem?.message ?? ''
  }
  write(own, '')
  writeFileSync(own, Buffer.from([0x23, 0xff, 0xfe]))
  assert.match(await problemOf(), /it is not text in UTF-8/)
  write(own, '#'.repeat(300_000))
  assert.match(await problemOf(), /larger than/)
  rmSync(own)
  mkdirSync(own)
  assert.match(await problemOf(), /no ordinary file/)
  rmSync(own, { recursive: true })
  execFileSync('mkfifo', [own])
  assert.match(await problemOf(), /no ordinary file/)
})
