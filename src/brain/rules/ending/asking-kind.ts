/** What an agent wants: `proceed`, leave to go on; `choice`, one of several; `other`, something only somebody else knows. */
export type AskingKind = 'proceed' | 'choice' | 'other'
