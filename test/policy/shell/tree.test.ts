import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failedParse, parseShell } from '../../../src/policy/shell/parse.ts'
import type { Redirect, Script, ShellNode, Word, WordPart } from '../../../src/policy/shell/tree.ts'

// The tree in one line, so that a reader of a test can compare it with the command.
const scriptText = ({ body }: Script): string => body.map(nodeText).join('; ')
const wordsText = (words: readonly Word[]) => words.map(wordText).join(' ')
const wordText = ({ bits }: Word): string => bits.map(bitText).join('')

function nodeText(node: ShellNode): string {
  switch (node.is) {
    case 'command': {
      const assigns = node.assigns.map(
        ({ name, append, value, inner }) =>
          `${name}${append ? '+' : ''}=${value ? wordText(value) : `(${wordsText(inner)})`}`,
      )
      return `[${[...assigns, wordsText(node.words), ...node.redirects.map(redirectText)].filter(Boolean).join(' ')}]`
    }
    case 'pipeline':
      return node.parts.map(nodeText).join(' | ')
    case 'group': {
      const marks = `${node.apart ? 'apart ' : ''}${node.background ? 'background ' : ''}${node.maybe ? 'maybe ' : ''}`
      const words = node.words.length > 0 ? `<${wordsText(node.words)}> ` : ''
      return `{${marks}${words}${node.body.map(nodeText).join('; ')}${node.redirects.map(one => ` ${redirectText(one)}`).join('')}}`
    }
    case 'loop':
      return `loop ${node.name} in ${node.words ? wordsText(node.words) : '-'} {${node.body.map(nodeText).join('; ')}}`
    case 'function':
      return `function ${node.name} {${node.body.map(nodeText).join('; ')}}`
  }
}
function redirectText({ op, target, body }: Redirect): string {
  return `${op}${target ? wordText(target) : ''}${body ? `"${wordText(body)}"` : ''}`
}
function bitText(bit: WordPart): string {
  const inner = (words: readonly Word[]) => (words.length > 0 ? `(${wordsText(words)})` : '')
  switch (bit.is) {
    case 'text':
      return bit.quoted ? `'${bit.value}'` : bit.value
    case 'glob':
      return `*${bit.value}*`
    case 'brace':
      return `brace ${bit.value ?? '?'}${inner(bit.inner)}`
    case 'variable':
      return `$${bit.name}${bit.plain ? '' : '…'}${bit.quoted ? 'q' : ''}${bit.indirect ? '!' : ''}${bit.sets ? '=' : ''}${inner(bit.inner)}`
    case 'substitution':
      return `${bit.how}${scriptText(bit.script)})`
    case 'arithmetic':
      return `sum${inner(bit.inner)}`
  }
}
function check(rows: [command: string, tree: string][]): void {
  for (const [command, tree] of rows) {
    const { script, errors } = parseShell(command)
    assert.deepEqual(errors, [], command)
    assert.equal(scriptText(script), tree, command)
  }
}

test('a command is its variables, its words and its redirects', () => {
  check([
    ['ls -l a', '[ls -l a]'],
    ['A=1 B+=2 ls', '[A=1 B+=2 ls]'],
    ['A=(1 2) B[3]=4', '[A=(1 2) B=(sum(3) 4)]'],
    ['A=', '[A=]'],
    ['export A=1 B=$x', '[export A=1 B=$x]'],
    ['ls > a 2>&1 < b', '[ls >a >&1 <b]'],
    ['cat <<< "$x"', `[cat <<<"''$xq"]`],
    ["cat <<'E'\n$x\nE", `[cat <<"'$x\n'"]`],
    ['cat <<E\na$x\nE', "[cat <<\"'a'$xq'\n'\"]"],
  ])
})

test('parts of a word say what they are and whether they are quoted', () => {
  check([
    [`a'b'"c"$'d'`, "[a'b''''c''d']"],
    ['"$x" $x', "[''$xq $x]"],
    ['*.ts "*" ?', "[***.ts '''*' *?*]"],
  ])
  const braces = parseShell('x{a,b} x{a,$y} x{1..3}').script.body[0]
  assert.ok(braces?.is === 'command')
  const values = braces.words.flatMap(({ bits }) => bits.flatMap(bit => (bit.is === 'brace' ? [bit.value] : [])))
  assert.deepEqual(values, ['{a,b}', undefined, '{1..3}'])
})

test('a variable is plain, or computed out of words that are read too', () => {
  check([
    ['$x ${x}', '[$x $x]'],
    ['${x:-a$y}', '[$x…(a$y)]'],
    ['${x:=a}', '[$x…=(a)]'],
    ['${x=a} ${x:+a}', '[$x…=(a) $x…(a)]'],
    ['${x#a} ${x%%a}', '[$x…(a) $x…(a)]'],
    ['${x/a/b}', '[$x…(a b)]'],
    ['${x:1:2}', '[$x…(sum(1) sum(2))]'],
    ['${x^^}', '[$x…]'],
    ['${!x}', '[$x…!]'],
    ['${!x[@]} ${!x@}', '[$x…(@) $x…]'],
    ['${x[1]}', '[$x…(sum(1))]'],
    ['${#x}', '[$x…]'],
    ['"${x}"', "[''$xq]"],
  ])
})

test('what is substituted is a script of its own, in every form', () => {
  check([
    ['echo $(ls a)', '[echo $([ls a])]'],
    ['echo `ls a`', '[echo $([ls a])]'],
    ['echo "$(a; b)"', "[echo ''$([a]; [b])]"],
    ['cat <(ls) >(tee)', '[cat <([ls]) >([tee])]'],
    ['echo ${x:-$(ls)}', '[echo $x…($([ls]))]'],
    ['echo $((x + $(ls)))', "[echo sum('x' $([ls]))]"],
    ['A=$(ls)', '[A=$([ls])]'],
    ['cat <<E\n$(ls)\nE', '[cat <<"$([ls])\'\n\'"]'],
    ['echo @(a|$(ls))', '[echo *@(a|$(ls))*$([ls])]'],
  ])
})

test('compounds hold what they run, and say what runs apart or in the background', () => {
  check([
    ['a | b |& c', '[a] | [b] | [c]'],
    ['a && b || c', '{[a]; {maybe [b]}; {maybe [c]}}'],
    ['a && b && c', '{[a]; {maybe [b]; {maybe [c]}}}'],
    ['! a', '{[a]}'],
    ['a &', '{apart background [a]}'],
    ['(a; b)', '{apart {[a]; [b]}}'],
    ['{ a; b; }', '{{[a]; [b]}}'],
    ['{ a; } > x', '{{{[a]}} >x}'],
    [
      'if a; then b; elif c; then d; else e; fi',
      '{{[a]}; {maybe {[b]}}; {maybe {{[c]}; {maybe {[d]}}}}; {maybe {[e]}}}',
    ],
    ['if a; then b; fi', '{{[a]}; {maybe {[b]}}}'],
    ['while a; do b; done', '{{[a]}; {maybe {[b]}}}'],
    ['until a; do b; done', '{{[a]}; {maybe {[b]}}}'],
    ['for x in a b; do c; done', 'loop x in a b {{[c]}}'],
    ['for x; do c; done', 'loop x in - {{[c]}}'],
    ['select x in a; do c; done', 'loop x in a {{[c]}}'],
    ['for ((i=0; i<$(n); i++)); do c; done', "{<sum('i') sum('0') sum('i') sum($([n])) sum('i')> {maybe {[c]}}}"],
    ['case $x in a|b) c;; *) d;; esac', '{<$x> {maybe <a b> {[c]}}; {maybe <***> {[d]}}}'],
    ['[[ -n $x && ! ( a == b ) ]]', '{<$x a b> }'],
    ['(( x + $(n) ))', "{<sum('x') sum($([n]))> }"],
    ['f() { a; }', 'function f {{{[a]}}}'],
    ['function f { a; }', 'function f {{{[a]}}}'],
    ['coproc a', '{apart background [a]}'],
    ['time a', '{[a]}'],
  ])
})

test('a place in the tree is a place in the command, and in escaped backticks the whole of them', () => {
  const { script } = parseShell('ls; cat a')
  assert.deepEqual(
    script.body.map(node => node.at),
    [
      [0, 2],
      [4, 9],
    ],
  )
  assert.deepEqual(script.at, [0, 9])
  const command = 'x `a \\`b\\`` y'
  const found: (readonly [number, number])[] = []
  const look = (node: ShellNode) => {
    if (node.is === 'command')
      for (const word of node.words)
        for (const bit of word.bits) if (bit.is === 'substitution') for (const inner of bit.script.body) look(inner)
    if (node.is === 'command') found.push(node.at)
  }
  for (const node of parseShell(command).script.body) look(node)
  for (const [start, end] of found) assert.ok(start >= 0 && start < end && end <= command.length, `${start} ${end}`)
})

test('what cannot be read is an error with its place, however deep it lies', () => {
  for (const command of ['if', 'a )', 'echo "', 'echo $(if)', 'cat <<E\nx', 'ls >', 'echo $((rm x))', 'a <(fi)'])
    assert.ok(parseShell(command).errors.length > 0, command)
  const nested = (depth: number) => `${'$('.repeat(depth)}a${')'.repeat(depth)}`
  assert.deepEqual(parseShell(nested(12)).errors, [])
  assert.match(parseShell(nested(13)).errors[0]?.message ?? '', /nested more than 12 deep/)
  assert.deepEqual(failedParse('abc', 'why'), {
    script: { at: [0, 3], body: [] },
    errors: [{ message: 'why', at: [0, 3] }],
  })
})
