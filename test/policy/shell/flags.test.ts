import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Arg,
  atDoubleDash,
  deriveArg,
  findFlag,
  findFlags,
  findOperands,
  HOLE,
  isFlag,
} from '../../../src/policy/shell/args.ts'
import { flagTable, scanFlags } from '../../../src/policy/shell/flag-table.ts'

const arg = (value: string): Arg => ({
  value,
  text: value,
  at: [0, 0],
  known: !value.includes(HOLE),
  glob: false,
  substituted: false,
})
const args = (line: string) => line.split(' ').filter(Boolean).map(arg)
const texts = (list: readonly Arg[]) => list.map(one => one.value).join(' ')
const hit = (line: string, flags: string[], values = '') => {
  const found = findFlag(args(line), flags, values)
  return found && `${found.arg.value} ${found.value?.value ?? '-'}`
}

test('a short flag is found alone, in a cluster and with its value attached', () => {
  assert.equal(hit('a -o f', ['-o']), '-o f')
  assert.equal(hit('-xo f', ['-o']), '-xo f')
  assert.equal(hit('-of', ['-o'], 'o'), '-of f')
  assert.equal(hit('-xof', ['-o'], 'o'), '-xof f')
  assert.equal(hit('-ox f', ['-o']), '-ox f', 'without a value the next letters are flags')
  assert.equal(hit('-to', ['-o'], 't'), undefined, 'it is the value of another flag')
  assert.equal(hit('-o', ['-o']), '-o -')
  assert.equal(hit('-- -o', ['-o']), undefined)
  assert.equal(hit('o', ['-o']), undefined)
  assert.equal(hit('-', ['-o']), undefined)
  assert.equal(hit('--o', ['-o']), undefined)
  assert.equal(hit('xo -y', ['-o']), undefined)
})

test('a long flag is found whole, abbreviated and with its value attached', () => {
  assert.equal(hit('--out f', ['--out']), '--out f')
  assert.equal(hit('--out=f', ['--out']), '--out=f f')
  assert.equal(hit('--o=f', ['--out']), '--o=f f')
  assert.equal(hit('--ou f', ['--out']), '--ou f')
  assert.equal(hit('--outer f', ['--out']), undefined)
  assert.equal(hit('-out f', ['--out']), undefined)
  assert.equal(hit('--=f', ['--out']), undefined)
})

test('a long flag with one dash counts whole, with a colon or an equals sign', () => {
  assert.equal(hit('-out f', ['-out']), '-out f')
  assert.equal(hit('-out=f', ['-out']), '-out=f f')
  assert.equal(hit('-out:f', ['-out']), '-out:f f')
  assert.equal(hit('-outer', ['-out']), undefined)
  assert.equal(hit('-ou', ['-out']), undefined)
  assert.equal(hit('--out', ['-out']), undefined)
})

test('every place of a flag is found, and a value that is not known is said to be so', () => {
  const found = findFlags(args('-o a -x -ob --out=c -- -o d'), ['-o', '--out'], 'o')
  assert.deepEqual(
    found.map(({ value }) => value?.value),
    ['a', 'b', 'c'],
  )
  const hole = findFlag(args(`-o${HOLE}`), ['-o'], 'o')
  assert.equal(hole?.value?.known, false)
  assert.equal(findFlag(args('-of'), ['-o'], 'o')?.value?.known, true)
})

test('bare words are those that are no flags and no values of flags', () => {
  const bare = (line: string, valued: string[] = []) => texts(findOperands(args(line), valued))
  assert.equal(bare('a -b c --d e'), 'a c e')
  assert.equal(bare('a -b c --d e', ['-b', '--d']), 'a')
  assert.equal(bare('-xC dir a', ['-C']), 'a')
  assert.equal(bare('-Cx dir a', ['-C']), 'dir a')
  assert.equal(bare('-C1 a', ['-C']), 'a')
  assert.equal(bare('-1C a', ['-C']), 'a', 'a number is no cluster')
  assert.equal(bare('a -- -b c', ['-b']), 'a -b c')
  assert.equal(bare('- a', []), '- a')
  assert.equal(bare('--xC dir', ['-C']), 'dir')
  assert.equal(bare('-CC dir a', ['-C']), 'dir a')
})

test('words are split at the first double dash', () => {
  const halves = (line: string) => {
    const { before, after } = atDoubleDash(args(line))
    return [texts(before), texts(after)]
  }
  assert.deepEqual(halves('a -- b -- c'), ['a', 'b -- c'])
  assert.deepEqual(halves('-- b'), ['', 'b'])
  assert.deepEqual(halves('a b'), ['a b', ''])
})

test('a flag is a dash and more, and a made word is known without a hole', () => {
  assert.deepEqual(
    ['-', '--', '-a', 'a', '', 'a-'].map(value => isFlag(arg(value))),
    [false, true, true, false, false, false],
  )
  assert.deepEqual([deriveArg('x', arg('y')).known, deriveArg(`x${HOLE}`, arg('y')).known], [true, false])
})

const TABLE = flagTable({
  harmless: '-abv -# --all --color? -n: --num: --pair:: --no-*',
  reads: '--file: -f:',
  writes: '-o: --output:',
  runs: '-x: --exec: --oust',
})
const scanned = (line: string, table = TABLE) => {
  const { flags, operands, unknown } = scanFlags(args(line), table)
  const shown = flags.map(({ kind, name, value }) => `${kind} ${name}${value ? `=${value.value}` : ''}`)
  return [shown.join(', '), texts(operands), texts(unknown)]
}

test('a table tells flags, values and bare words apart', () => {
  assert.deepEqual(scanned('-ab c --all d'), ['harmless a, harmless b, harmless all', 'c d', ''])
  assert.deepEqual(scanned('-n 5 -n5 --num 6 --num=7 x'), [
    'harmless n=5, harmless n=5, harmless num=6, harmless num=7',
    'x',
    '',
  ])
  assert.deepEqual(scanned('-abn 5 x'), ['harmless a, harmless b, harmless n=5', 'x', ''])
  assert.deepEqual(scanned('--pair a b c'), ['harmless pair=b', 'c', ''])
  assert.deepEqual(scanned('--pair=a b c'), ['harmless pair=a', 'c', ''])
  assert.deepEqual(scanned('--color c --color=always'), ['harmless color, harmless color=always', 'c', ''])
  assert.deepEqual(scanned('--no-thing x'), ['harmless no-thing', 'x', ''])
  assert.deepEqual(scanned('-20 x -a5'), ['harmless a', 'x', ''])
  assert.deepEqual(scanned('- a -- -b --all'), ['', '- a -b --all', ''])
  assert.deepEqual(scanned('--help --version'), ['harmless help, harmless version', '', ''])
})

test('what the table does not know, or knows without a value, is unknown', () => {
  assert.deepEqual(scanned('-q --what x'), ['', 'x', '-q --what'])
  assert.deepEqual(scanned('-aq'), ['harmless a', '', '-aq'])
  assert.deepEqual(scanned('--all=x'), ['', '', '--all=x'])
  assert.deepEqual(scanned('--al'), ['', '', '--al'], 'a harmless abbreviation is nothing anybody writes')
  assert.deepEqual(scanned('--'), ['', '', ''])
  assert.deepEqual(scanned('-5', flagTable({ harmless: '-a' })), ['', '', '-5'])
})

test('an abbreviation counts as the worst that it may stand for', () => {
  assert.deepEqual(scanned('--ou x'), ['runs oust', 'x', ''])
  assert.deepEqual(scanned('--out x'), ['writes output=x', '', ''])
  assert.deepEqual(scanned('--outp=x y'), ['writes output=x', 'y', ''])
  assert.deepEqual(scanned('--fi x'), ['reads file=x', '', ''])
  assert.deepEqual(scanned('--=x'), ['', '', '--=x'])
})

test('where one dash is as good as two, words are no clusters', () => {
  const table = flagTable({ words: true, harmless: '-v -run: -n: -json', runs: '-exec: -toolexec:' })
  assert.deepEqual(scanned('-run x y', table), ['harmless run=x', 'y', ''])
  assert.deepEqual(scanned('--run=x y', table), ['harmless run=x', 'y', ''])
  assert.deepEqual(scanned('-vv -v', table), ['harmless v, harmless v', '', ''])
  assert.deepEqual(scanned('-n5 -n 6', table), ['harmless n=5, harmless n=6', '', ''])
  assert.deepEqual(scanned('-vx', table), ['', '', '-vx'])
  assert.deepEqual(scanned('-ru x', table), ['', 'x', '-ru'])
  assert.deepEqual(scanned('--tool x', table), ['runs toolexec=x', '', ''])
})

test('a loose table lets a value hang on any long flag', () => {
  const table = flagTable({ loose: true, harmless: '--all --num:' })
  assert.deepEqual(scanned('--all=x --all y', table), ['harmless all=x, harmless all', 'y', ''])
  assert.deepEqual([table().loose, table().words], [true, false])
})

test('what is worse is written over what is not, and words after the end belong to another', () => {
  assert.deepEqual(scanned('-x a', flagTable({ harmless: '-x', runs: '-x:' })), ['runs x=a', '', ''])
  const { operands, rest } = scanFlags(args('-a one two -b three'), TABLE, one => one.value === 'two')
  assert.deepEqual([texts(operands), texts(rest)], ['one', 'two -b three'])
})
