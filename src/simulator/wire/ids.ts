import { randomUUID } from 'node:crypto'

/** A fresh id in a vendor's form, unique across processes. */
export function newId(prefix: 'msg' | 'req' | 'toolu' | 'resp' | 'call' | 'rs'): string {
  return `${prefix}_sim_${randomUUID().replaceAll('-', '')}`
}

/** A rough count for when the scenario names none: about four bytes to a token. */
export function tokensIn(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / 4))
}
