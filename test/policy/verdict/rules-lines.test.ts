import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findingsInRules } from '../../../src/policy/trust/findings.ts'
import { addRule, removeRule } from '../../../src/policy/verdict/edit-rules.ts'
import { openRules } from '../../../src/policy/verdict/load-rules.ts'
import {
  findProjectRules,
  parseRules,
  projectRulesFile,
  readRules,
  userRulesFile,
} from '../../../src/policy/verdict/rules-file.ts'
import { tempDir } from '../../support/world.ts'

function edited(t: TestContext, content: string) {
  const home = tempDir(t)
  const edit = { file: join(home, 'rules.toml'), lockFile: join(home, 'rules.lock') }
  writeFileSync(edit.file, content)
  return { edit, read: () => readRules(edit.file) }
}
const one = (tool: string, more = '') => `[[rules]]\neffect = "ask"\ntool = "${tool}"\n${more}`
const refusal = (content: string) => {
  try {
    parseRules('f', content)
  } catch (thrown) {
    return (thrown as Error).message
  }
  return 'taken'
}

test('a rule is appended after a blank line, and to a file without an end of line after one', async t => {
  const { edit, read } = edited(t, one('A').trimEnd())
  await addRule(edit, { effect: 'allow', tool: 'B', match: 'x' })
  assert.equal(read(), `${one('A')}\n[[rules]]\neffect = "allow"\ntool = "B"\nmatch = "x"\n`)
})

test('a file of blanks alone gets no blank line more', async t => {
  const { edit, read } = edited(t, ' \n')
  await addRule(edit, { effect: 'deny', tool: 'B' })
  assert.equal(read(), ' \n[[rules]]\neffect = "deny"\ntool = "B"\n')
})

test('a file with line ends of Windows keeps them', async t => {
  const windows = (text: string) => text.replaceAll('\n', '\r\n')
  const { edit, read } = edited(t, windows(`${one('A')}\n${one('B')}\n${one('C')}`))
  await addRule(edit, { effect: 'ask', tool: 'D' })
  assert.equal(read(), windows(`${one('A')}\n${one('B')}\n${one('C')}\n${one('D')}`))
  await removeRule(edit, 2)
  assert.equal(read(), windows(`${one('A')}\n${one('C')}\n${one('D')}`))
})

test('where a rule is taken out, one blank line stays and not two', async t => {
  const { edit, read } = edited(t, `${one('A')}\n${one('B')}\n${one('C')}`)
  assert.equal((await removeRule(edit, 2)).rule.tool, 'B')
  assert.equal(read(), `${one('A')}\n${one('C')}`)
  assert.equal((await removeRule(edit, 1)).rule.tool, 'A')
  assert.equal(read(), one('C'))
  await removeRule(edit, 1)
  assert.equal(read(), '')
})

test('the last rule is taken out also when its file has no end of line', async t => {
  const { edit, read } = edited(t, `# mine\n${one('A')}\n${one('B')}`.trimEnd())
  await removeRule(edit, 2)
  assert.equal(read(), `# mine\n${one('A')}\n`)
  await assert.rejects(removeRule(edit, 0), { code: 'rule_unknown' })
  await assert.rejects(removeRule(edit, 2), { code: 'rule_unknown' })
})

test('what a project would be let through is its allow rules, and nothing of a wrong file', async () => {
  const content = '[[rules]]\neffect = "allow"\ntool = "Bash"\nmatch = "x *"\n[[rules]]\neffect = "deny"\ntool = "B"\n'
  assert.deepEqual(await findingsInRules('f', content), [{ kind: 'allow rules', text: 'allow Bash x *' }])
  assert.deepEqual(await findingsInRules('f', one('A')), [])
  assert.deepEqual(await findingsInRules('f', 'broken'), [])
})

test('rules in one inline list all stand where the list does', async () => {
  const list = '\n\nrules = [{ effect = "deny", tool = "A" }, { effect = "ask", tool = "B" }]\n'
  assert.deepEqual(
    parseRules('f', list).map(({ line, number }) => [line, number]),
    [
      [3, 1],
      [3, 2],
    ],
  )
  assert.match(refusal('\n\nrules = [{ effect = "deny", tool = "A" }, { effect = "ask" }]\n'), /^f:3: tool: /)
})

test('a mistake is told with the line of its key, in its own rule', async () => {
  assert.match(refusal(`${one('A')}${one('')}`), /^f:6: tool: it is empty/)
  assert.match(
    refusal(`${one('A')}\n[[rules]]\ntool = "B"\neffect = 5\n`),
    /^f:7: effect: it must be one of allow, ask, deny$/,
  )
  assert.match(
    refusal(`${one('A')}${one('B', 'match = 5\n')}${one('C', 'match = "x"\n')}`),
    /^f:7: match: a text is needed$/,
  )
  assert.match(
    refusal(`${one('A', 'x = 1\n')}${one('B')}`),
    /^f:4: there is no key "x"; a rule has effect, tool and match, under \[\[rules\]\]$/,
  )
  assert.match(refusal(`a = 1\n${one('B')}`), /^f:1: there is no key "a"/)
  assert.match(refusal('\nrules = 5\n'), /^f:2: rules are written as \[\[rules\]\] tables$/)
  assert.match(refusal('\n\nrules = [5]\n'), /^f:3: /)
  assert.match(refusal('x ='), /^f:1: /)
})

test("rules of a project are found in it or above, and the person's own are not taken for one", async t => {
  const root = tempDir(t)
  const deep = join(root, 'a/b/c')
  mkdirSync(deep, { recursive: true })
  const paths = { home: join(root, '.perpetualcc') }
  assert.equal(await findProjectRules(paths, deep), undefined)
  mkdirSync(paths.home)
  writeFileSync(userRulesFile(paths), '')
  assert.equal(userRulesFile(paths), projectRulesFile(root))
  assert.equal(await findProjectRules(paths, deep), undefined, 'it is the file of the person')
  assert.equal(await findProjectRules({ home: '/none' }, deep), join(root, '.perpetualcc/rules.toml'))
  mkdirSync(join(root, 'a/.perpetualcc'))
  writeFileSync(join(root, 'a/.perpetualcc/rules.toml'), '')
  assert.equal(await findProjectRules(paths, deep), join(root, 'a/.perpetualcc/rules.toml'))
  writeFileSync(join(root, 'a/b/.perpetualcc'), 'a file and no folder')
  assert.equal(await findProjectRules(paths, deep), join(root, 'a/.perpetualcc/rules.toml'))
})

test('a file that is asked for by name must be there, others may be missing', async t => {
  const home = tempDir(t)
  const missing = join(home, 'none.toml')
  assert.equal(readRules(missing), '')
  assert.equal(readRules(join(home, 'none/none.toml')), '')
  assert.throws(() => readRules(missing, { mustExist: true }), { code: 'rules_invalid' })
  const rules = openRules()
  const { problem } = await rules.load({ paths: { home }, userFile: missing })
  assert.equal(problem?.code, 'rules_invalid')
  assert.equal((await rules.load({ paths: { home } })).problem, undefined)
})

test('a file of 256 KiB is read, a larger one is not', async t => {
  const { edit } = edited(t, '#'.repeat(256 * 1024))
  assert.equal(readRules(edit.file).length, 256 * 1024)
  writeFileSync(edit.file, '#'.repeat(256 * 1024 + 1))
  assert.throws(() => readRules(edit.file), { code: 'rules_invalid' })
})

test('a file that was emptied has no last good rules to fall back on', async t => {
  const home = tempDir(t)
  const file = join(home, 'rules.toml')
  const rules = openRules()
  const load = () => rules.load({ paths: { home } })
  writeFileSync(file, one('A'))
  const first = await load()
  assert.equal((await load()).written[0], first.written[0], 'what did not change is not read anew')
  writeFileSync(file, '')
  assert.deepEqual((await load()).rules, [])
  writeFileSync(file, 'broken')
  assert.deepEqual((await load()).rules, [{ effect: 'ask', tool: '*' }])
})

test("trust may be said outright, and opens a project's allow rules", async t => {
  const home = tempDir(t)
  const project = tempDir(t)
  mkdirSync(join(project, '.perpetualcc'))
  writeFileSync(projectRulesFile(project), '[[rules]]\neffect = "allow"\ntool = "A"\n')
  const rules = openRules()
  const counted = async (trusted?: boolean) => {
    const { rules: inForce, waiting } = await rules.load({ paths: { home }, project, trusted })
    return [inForce.length, waiting.length]
  }
  assert.deepEqual(await counted(true), [1, 0])
  assert.deepEqual(await counted(false), [0, 1])
  assert.deepEqual(await counted(), [0, 1])
})
