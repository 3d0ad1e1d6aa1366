import type { Reason } from '../../../domain/assessment.ts'
import type { Assign } from '../../shell/tree.ts'
import { expandWords } from '../words/expand.ts'
import type { Scope } from '../words/scope.ts'
import { bind, textOf } from '../words/values.ts'
import { judgeAssignment } from './environment.ts'

interface Where {
  /** No program follows: the shell itself keeps the value. */
  alone: boolean
  /** The program that it stands before. */
  of: string | undefined
  scope: Scope
  add: (reason: Reason) => undefined
}

/** `A=1`: what it does to programs, what is known of it from here on, and whether it now holds a secret. */
export function assign({ name, at, append, value: word, inner }: Assign, { alone, of, scope, add }: Where): undefined {
  const value = word && textOf(word, scope)
  // `IFS= read -r line` splits that line and nothing else.
  if (name !== 'IFS' || of !== 'read') judgeAssignment({ name, value, at, alone }, add)
  if (!alone) return
  bind(name, append ? undefined : value, scope)
  const words = value ? [value] : expandWords(inner, scope)
  if (words.some(one => one.secret !== undefined)) scope.secrets.add(name)
}
