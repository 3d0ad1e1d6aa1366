/** What a person wrote down about a project: what is to be done, what they prefer, what must hold. */
export interface Requirements {
  title?: string | undefined
  overview?: string | undefined
  tasks: RequiredTask[]
  preferences: Preference[]
  constraints: string[]
}

export interface RequiredTask {
  id?: string | undefined
  text: string
  done: boolean
  priority: number
  depends_on: string[]
  /** Of the file, for messages. */
  line: number
}

export interface Preference {
  key: string
  value: string
}
