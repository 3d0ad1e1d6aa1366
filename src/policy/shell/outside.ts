import type { ShellScope } from './scope.ts'
import type { Script, ShellNode, Word, WordPart } from './tree.ts'

// Arithmetic evaluates the text of its operands, and an array index in that text runs commands: `a[$(id)]`. So a text from outside, which
// a program prints or a file holds, must not get there unless it can only be a number.

/** An assignment of a script: the variable, and the words that its value is made of. `undefined` stands for a text from outside. */
export interface Assigned {
  name: string
  from: readonly Word[] | undefined
}

/** Notes the variables that may hold a text from outside, also by way of other variables. */
export function noteOutside(assigned: readonly Assigned[], scope: ShellScope): undefined {
  for (let before = -1; before < scope.outside.size; ) {
    before = scope.outside.size
    for (const { name, from } of assigned)
      if (from === undefined || from.some(word => isFromOutside(word, scope))) scope.outside.add(name)
  }
}

/** The first operand of an arithmetic expression that may hold a text from outside. */
export function findEvaluated(operands: readonly Word[], scope: ShellScope): Word | undefined {
  return operands.find(
    word => isFromOutside(word, scope) || word.bits.some(bit => bit.is === 'text' && namesOutside(bit.value, scope)),
  )
}

/** Whether a text of arithmetic names a variable with a text from outside. A name needs no `$` there. */
export function namesOutside(text: string, { outside }: ShellScope): boolean {
  if (/\$\{?[\d@*]/.test(text)) return true
  return outside.size > 0 && (text.match(/[A-Za-z_]\w*/g) ?? []).some(name => outside.has(name))
}

function isFromOutside(word: Word, scope: ShellScope): boolean {
  return word.bits.some(bit => {
    switch (bit.is) {
      case 'text':
      case 'glob':
      case 'arithmetic':
        return false
      case 'brace':
        return bit.inner.some(inner => isFromOutside(inner, scope))
      case 'variable':
        return isVariableFromOutside(bit, scope)
      case 'substitution':
        return bit.how === '$(' && !printsNumber(bit.script)
    }
  })
}

function isVariableFromOutside(bit: Extract<WordPart, { is: 'variable' }>, scope: ShellScope): boolean {
  if (bit.counts) return false
  return scope.outside.has(bit.name) || /^[\d@*]+$/.test(bit.name) || bit.inner.some(word => isFromOutside(word, scope))
}

/** Whether a script prints nothing but a number. */
function printsNumber({ body }: Script): boolean {
  const [node, second] = body
  if (node === undefined || second !== undefined) return false
  const parts = node.is === 'pipeline' ? node.parts : [node]
  const last = lineOf(parts.at(-1))
  if (NUMBERS.some(shape => shape.test(last))) return true
  // The first column of `wc` and `du` is a number.
  return /^(awk \{ ?print \$1 ?\}|cut -f ?1|cut -d {2}-f ?1)$/.test(last) && /^(wc|du) /.test(lineOf(parts.at(-2)))
}

const NUMBERS = [
  /^wc -[lcwm]$/,
  /^date \+%[sNjYmdHMSu](%[NjYmdHMSu])*$/,
  /^(nproc|seq( -?\d+)+|id -u|tput (cols|lines))$/,
  /^grep -\w*c\w* [^-\n][^\n]*$/,
  /^pgrep -c /,
  /^stat (-c ?|--format=|--printf=|-f ?)%[sYXZahum] [^-]\S*$/,
  /^git rev-list --count [\w./^@~ -]+$/,
  /^jq (-r )?(\. \| )?length$/,
  /^curl [^\n]*-o \/dev\/null [^\n]*-w %\{(http_code|response_code)\}/,
]

/** The words of a command as the program gets them, as far as they are plain text. */
function lineOf(node: ShellNode | undefined): string {
  if (node?.is !== 'command' || node.assigns.length > 0) return ''
  return node.words
    .map(({ bits }) => bits.map(bit => (bit.is === 'text' || bit.is === 'glob' ? bit.value : '\n')).join(''))
    .join(' ')
}
