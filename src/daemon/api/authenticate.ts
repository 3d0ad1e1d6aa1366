import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { type ApiKey, type Caller, mayUse, type Scope } from '../../domain/access.ts'
import { readBearer } from '../routes/guard.ts'
import type { JwtVerifier } from './jwt.ts'
import type { ApiKeys } from './keys.ts'

export interface AuthenticatorDeps {
  keys: Pick<ApiKeys, 'verify' | 'checkAgain'>
  verifyJwt: JwtVerifier
  /** The name of this machine. */
  system?: string
}

export interface Authenticator {
  /**
   * Who sends this request. Throws if nobody says so, or the caller's key does not count here. `connection`: the one of this client
   * alone, never that of a proxy, whose clients could measure how much of another's key they have guessed.
   */
  authenticate(request: Pick<FastifyRequest, 'headers'>, connection?: Socket): Caller | Promise<Caller>
}

/** What a connection has shown: the same text is not hashed again while the key has that secret. */
interface Shown {
  text: string
  key: ApiKey
  hash: string
  caller: Caller
}

/** Finds out who calls by `Authorization: Bearer`, and by nothing else: no cookie, no part of the address. */
export function openAuthenticator({ keys, verifyJwt, system = hostname() }: AuthenticatorDeps): Authenticator {
  const shown = new WeakMap<Socket, Shown>()
  return {
    authenticate(request, connection) {
      const text = request.headers.authorization
      const before = connection && shown.get(connection)
      if (before && before.text === text && before.hash === before.key.hash) {
        keys.checkAgain(before.key)
        return before.caller
      }
      const given = readBearer(request)
      if (text === undefined || given === undefined || given === '') throw new AppError('key_missing', {})
      if (JWT.test(given)) return verifyJwt(given).then(refuseElsewhere)
      const admit = (key: ApiKey): Caller => {
        const caller = refuseElsewhere(callerOfKey(key))
        if (connection) shown.set(connection, { text, key, hash: key.hash, caller })
        return caller
      }
      const key = keys.verify(given)
      return key instanceof Promise ? key.then(admit) : admit(key)
    },
  }

  function refuseElsewhere(caller: Caller): Caller {
    const { name, system: only } = caller
    if (only !== null && only !== system) throw new AppError('key_elsewhere', { name, system: only, here: system })
    return caller
  }
}

function callerOfKey({ name, scope, project, system }: ApiKey): Caller {
  return { name, via: 'key', scope, project, system }
}

/** A key of ours has no dots. The length is bounded before anything is decoded. */
const JWT = /^[\w-]{1,1000}\.[\w-]{1,6000}\.[\w-]{0,1000}$/

/** Throws if the caller may not do what needs this scope. */
export function requireScope(caller: Caller, needed: Scope): void {
  if (!mayUse(caller, needed)) throw new AppError('scope_needed', { needed, name: caller.name, scope: caller.scope })
}
