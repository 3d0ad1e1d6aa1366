import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { addRule, removeRule } from '../../../src/policy/verdict/edit-rules.ts'
import { tempDir } from '../../support/world.ts'

const MINE = `# What I thought about on a Sunday.

# builds are fine
[[rules]]  # the first
effect = "allow"
tool = 'Bash'
match = "npm run *"   # all scripts

# never
[[rules]]
tool = "Bash"
# not even dry
effect = "deny"
match = """
git push *"""

[[rules]]
effect = "ask"
tool = "WebFetch"
# the end`

function rulesFile(t: TestContext, content?: string) {
  const home = tempDir(t)
  const file = join(home, 'rules.toml')
  if (content !== undefined) writeFileSync(file, content)
  return { file, lockFile: join(home, 'rules.lock'), read: () => readFileSync(file, 'utf8'), home }
}

test('a rule is added at the end and nothing else is touched', async t => {
  const { read, ...edit } = rulesFile(t, MINE)
  const added = await addRule(edit, { effect: 'allow', tool: 'Bash', match: `echo "it's" \\ *` })
  assert.deepEqual([added.number, added.line, added.rule.match], [4, 22, `echo "it's" \\ *`])
  assert.ok(read().startsWith(`${MINE}\n`))
  assert.deepEqual((await removeRule(edit, 4)).rule, added.rule)
  assert.equal(read().trimEnd(), MINE)
})

test('the first rule makes the file, which only its owner may read', async t => {
  const { read, ...edit } = rulesFile(t)
  await addRule(edit, { effect: 'deny', tool: 'WebFetch' })
  assert.equal(read(), '[[rules]]\neffect = "deny"\ntool = "WebFetch"\n')
  assert.equal(statSync(edit.file).mode & 0o777, 0o600)
  assert.deepEqual(
    readdirSync(edit.home).filter(name => name.endsWith('.tmp')),
    [],
  )
})

test('a removed rule takes its lines along and leaves the comments around it', async t => {
  const { read, ...edit } = rulesFile(t, MINE)
  await removeRule(edit, 2)
  assert.equal(
    read(),
    MINE.replace(/\[\[rules\]\]\ntool = "Bash"\n/, '').replace(/effect = "deny"\nmatch = """\ngit push \*"""\n/, ''),
  )
  await removeRule(edit, 1)
  assert.match(read(), /# builds are fine\n\n# never\n# not even dry\n\n\[\[rules\]\]\neffect = "ask"\n/)
  await assert.rejects(removeRule(edit, 2), { code: 'rule_unknown' })
})

test('a file with an error is refused and left as it is, and so is one that cannot be edited safely', async t => {
  const { read, ...edit } = rulesFile(t, '[[rules]]\neffect = "allow"\n')
  await assert.rejects(addRule(edit, { effect: 'ask', tool: 'Bash' }), { code: 'rules_invalid' })
  await assert.rejects(removeRule(edit, 1), { code: 'rules_invalid' })
  assert.equal(read(), '[[rules]]\neffect = "allow"\n')
  const inline = 'rules = [{ effect = "deny", tool = "Bash" }]\n'
  writeFileSync(edit.file, inline)
  await assert.rejects(addRule(edit, { effect: 'ask', tool: 'Bash' }), { code: 'rules_not_edited' })
  await assert.rejects(removeRule(edit, 1), { code: 'rules_not_edited' })
  assert.equal(read(), inline)
})

test('a rule that the file could not hold is not written', async t => {
  const { read, ...edit } = rulesFile(t, MINE)
  await assert.rejects(addRule(edit, { effect: 'allow', tool: '' }), { code: 'rules_not_edited' })
  await assert.rejects(addRule(edit, { effect: 'allow', tool: 'Bash', match: 'a\u0007b' }), {
    code: 'rules_not_edited',
  })
  assert.equal(read(), MINE)
})

test('a file that is a link into the dotfiles stays a link', async t => {
  const { home, ...edit } = rulesFile(t)
  mkdirSync(join(home, 'dotfiles'))
  const real = join(home, 'dotfiles', 'rules.toml')
  writeFileSync(real, '')
  symlinkSync(real, edit.file)
  await addRule(edit, { effect: 'deny', tool: 'Bash' })
  assert.match(readFileSync(real, 'utf8'), /deny/)
})
